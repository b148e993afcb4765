package sessions

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// drainOfParis looks at the status of a target again and again, as a center does.
type drainOfParis struct {
	left  placement.Remaining
	moves []placement.Moving
	st    *v1alpha1.SyncTarget
}

// look returns the Events of one look, with the kind of a Warning marked.
func (p *drainOfParis) look() (out []string) {
	s := &stub{moves: func() []placement.Moving { return p.moves },
		remaining: func() (placement.Remaining, bool) { return p.left, true }}
	srv := &Server{cfg: s.in(Config{Log: slog.New(slog.DiscardHandler)})}
	for _, e := range srv.setDrainedCondition(p.st, nil) {
		text := e.Reason + ": " + e.Message
		if e.Warning {
			text = "! " + text
		}
		if e.Key.String() != "root/skerry.dev/synctargets/_/paris" || e.UID != "7" || e.Kind != "SyncTarget" {
			text += " about " + e.Key.String() + " " + e.UID
		}
		out = append(out, text)
	}
	return out
}

func TestADrainIsToldInEvents(t *testing.T) {
	shop := store.Key{Space: "shop", Resource: "namespaces", Name: "a"}
	p := &drainOfParis{
		left: placement.Remaining{Why: placement.LeaveDrained, Units: 2},
		st:   &v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: "paris", UID: "7"}},
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := p.look(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: told %q, want %q", when, got, want)
		}
		if again := p.look(); len(again) > 0 {
			t.Errorf("%s: told again %q", when, again)
		}
	}
	expect("it begins", "DrainStarted: 2 units have to leave (Drained)")
	noOther := placement.Moving{Key: shop, From: []string{"paris"}, Phase: placement.CannotLeave,
		Reason: placement.StayNoOther, Message: "no other target fits"}
	p.moves = []placement.Moving{noOther, noOther}
	expect("two are blocked for one reason", "! DrainBlocked: NoOtherTarget: shop/core/namespaces/_/a: "+
		"no other target fits: uncordon or join a site that fits, or widen the selector")
	job := placement.Moving{Key: shop, From: []string{"paris"}, Phase: placement.JobRunning, Message: "delete it"}
	p.moves = []placement.Moving{noOther, job}
	expect("another reason", "! DrainBlocked: JobRunning: shop/core/namespaces/_/a: delete it, or begin it anew elsewhere: skerry target drain --jobs Restart")
	hook := placement.Moving{Key: shop, From: []string{"paris"}, Phase: placement.HookFailed, Message: "hook save failed"}
	p.moves = []placement.Moving{hook, job}
	expect("a hook has failed", "! DrainBlocked: HookFailed: shop/core/namespaces/_/a: hook save failed")
	p.moves = nil
	expect("nothing is blocked any more")
	p.moves = []placement.Moving{noOther}
	expect("the first reason is back")
	p.left, p.moves = placement.Remaining{Why: placement.LeaveDrained}, nil
	expect("it ends", "Drained: nothing is placed here any more; the agent has no session: what still runs is "+
		"removed when it is back")
	p.left = placement.Remaining{Why: placement.LeaveAway, Units: 1, Halted: true}
	expect("nothing moves by itself", "! DrainBlocked: EvictionHalted: more than half of all targets are away or "+
		"tainted, so nothing moves by itself. To move it all the same: skerry target drain paris")
}

// An Event is told once its status is written: a center that could not write it tells it the next time.
func TestEventsOfADrainFollowItsStatus(t *testing.T) {
	api, told := newFakeAPI(), []string{}
	conflict := true
	api.meddle = func(r *http.Request, _ string) int {
		if conflict {
			return http.StatusConflict
		}
		return 0
	}
	parts := &stub{event: func(e placement.Event) { told = append(told, e.Reason) },
		remaining: func() (placement.Remaining, bool) {
			return placement.Remaining{Why: placement.LeaveDrained, Units: 1}, true
		}}
	d := New(parts.in(Config{Log: slog.New(slog.DiscardHandler), API: func() *rest.Config {
		return &rest.Config{Host: "http://api", QPS: -1, Transport: api}
	}}))
	api.change(targetsPath+"/paris", map[string]any{"metadata": map[string]any{"name": "paris", "uid": "7"}})
	api.follow(d)
	if err := d.writeStatus(t.Context(), "paris"); err == nil || len(told) > 0 {
		t.Errorf("it is not written (%v), and told %q", err, told)
	}
	conflict = false
	for range 2 {
		must(t, d.writeStatus(t.Context(), "paris"))
	}
	if !slices.Equal(told, []string{drainStarted}) {
		t.Errorf("told %q", told)
	}
}
