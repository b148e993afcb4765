package admin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

func objects(list []departure) (out string) {
	for _, d := range list {
		out += strings.TrimPrefix(d.Object, "shop/core/namespaces/_/") + ">" + strings.Join(d.To, ",") + " " + d.Reason + ";"
	}
	return out
}

// A removal says of each unit whether it comes up elsewhere, and what two of must not run.
func TestARemovalSaysWhatBecomesOfEachUnit(t *testing.T) {
	fleet := func(sites ...string) *fleetState {
		state := &fleetState{}
		for _, name := range sites {
			site := loadedSite(name, "1")
			state.world.Targets = append(state.world.Targets, targetOf(&site))
		}
		free, pinned, once, held := anywhere("free", "a", 1), anywhere("pinned", "a", 1), anywhere("once", "a", 1),
			anywhere("held", "a", 1)
		pinned.wish = placement.Wish{Names: []string{"a"}, Count: 1}
		once.ties = map[string]ties{"a": {once: []string{"statefulsets/db"}, volumes: []string{"statefulsets/db"}}}
		held.suspended, held.ties = true, map[string]ties{"a": {once: []string{"statefulsets/db"}}}
		orphan := anywhere("orphan", "a", 1)
		orphan.ties = map[string]ties{"a": {once: []string{"statefulsets/db"}, runsOn: []string{"statefulsets/db"}}}
		begun := anywhere("begun", "a", 1)
		begun.ties = map[string]ties{"a": {begun: []string{"jobs/report"}}}
		state.units = []*unit{anywhere("other", "b", 1), free, pinned, once, orphan, held, begun}
		return state
	}
	for name, c := range map[string]struct {
		sites               []string
		moves, stays, twice string
	}{
		"another fits": {sites: []string{"a", "b"}, moves: "free>b ;",
			stays: "pinned> Pinned;once> VolumeWouldStay;orphan> WouldRunOn;held> Suspended;begun> JobRunning;",
			twice: "once>b ;orphan>b ;"},
		"no other fits": {sites: []string{"a"},
			stays: "free> NoOtherTarget;pinned> Pinned;once> NoOtherTarget;orphan> NoOtherTarget;held> Suspended;begun> NoOtherTarget;"},
	} {
		t.Run(name, func(t *testing.T) {
			r, found := fleet(c.sites...).removal("a", time.Now())
			moves, stays, twice := objects(r.Moves), objects(r.Stays), objects(r.Twice)
			if !found || moves != c.moves || stays != c.stays || twice != c.twice {
				t.Errorf("moves %q, stays %q, twice %q", moves, stays, twice)
			}
		})
	}
	if _, found := fleet("a").removal("nowhere", time.Now()); found {
		t.Error("a site was found that is not there")
	}
}

// Clean is refused until somebody allows as many losses as there are, Keep while something would run
// twice.
func TestARemovalIsRefused(t *testing.T) {
	lost, twice := []departure{{Object: "x", Reason: "Pinned"}}, []departure{{Object: "y", To: []string{"b"}}}
	for name, c := range map[string]struct {
		options RemoveOptions
		now     removing
		plan    removal
		want    string
	}{
		"clean":                          {options: RemoveOptions{Clean: true}},
		"clean, one is lost":             {options: RemoveOptions{Clean: true}, plan: removal{Stays: lost}, want: "--allow-loss=1"},
		"clean, one is allowed":          {options: RemoveOptions{Clean: true, AllowLoss: 1}, plan: removal{Stays: lost}},
		"clean, more are allowed":        {options: RemoveOptions{Clean: true, AllowLoss: 2}, plan: removal{Stays: lost}, want: "--allow-loss=1"},
		"clean, nothing is to be lost":   {options: RemoveOptions{Clean: true, AllowLoss: 2}, want: "leave it out"},
		"clean, what must not run twice": {options: RemoveOptions{Clean: true}, plan: removal{Twice: twice}},
		"keep, it goes on":               {plan: removal{Stays: lost}},
		"keep, it would run twice":       {plan: removal{Twice: twice}, want: "skerry target drain"},
		"clean, more than is known here": {options: RemoveOptions{Clean: true, AllowLoss: 2}, now: removing{deleting: true},
			plan: removal{Stays: lost}},
		"clean, one is suspended": {options: RemoveOptions{Clean: true, AllowLoss: 1},
			plan: removal{Stays: []departure{{Object: "z", Reason: "Suspended"}}}, want: "spec.suspend"},
		"keep, again": {plan: removal{Twice: twice}, now: removing{deleting: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Name = "paris"
			err := c.plan.check(c.options, c.now)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("said %v, want %q", err, c.want)
			}
			if err != nil && len(c.plan.Stays)+len(c.plan.Twice) > 0 && !errors.Is(err, ErrProblems) {
				t.Errorf("%v is no ErrProblems", err)
			}
		})
	}
}

// What has begun stays, and takes no room elsewhere; the rest of its unit does.
func TestOnlyTheRestOfWhatHasBegunMoves(t *testing.T) {
	for objects, rest := range map[int]string{1: "", 2: "; the rest moves to b"} {
		state := &fleetState{}
		for _, name := range []string{"a", "b"} {
			site := loadedSite(name, "1")
			state.world.Targets = append(state.world.Targets, targetOf(&site))
		}
		u := anywhere("begun", "a", 1)
		u.load.Objects, u.ties = objects, map[string]ties{"a": {begun: []string{"jobs/report"}}}
		state.units = []*unit{u}
		state.drain("a")
		d := state.leave(u, "a", time.Now())
		if d.Reason != string(placement.JobRunning) || len(d.To) > 0 || !strings.HasSuffix(d.Message, "has ended"+rest) ||
			(u.decision[0] == "b") != (rest != "") {
			t.Errorf("%d objects: %+v, and it counts at %v", objects, d, u.decision)
		}
	}
}

// With spec.drain.jobs Restart what has begun moves with the rest, and that it is stopped first is told.
func TestWhatHasBegunIsRestarted(t *testing.T) {
	state := &fleetState{}
	for _, name := range []string{"a", "b"} {
		site := loadedSite(name, "1")
		site.Spec.Drain = &v1alpha1.DrainPolicy{Jobs: v1alpha1.DrainJobsRestart}
		state.world.Targets = append(state.world.Targets, targetOf(&site))
	}
	u := anywhere("begun", "a", 1)
	u.ties = map[string]ties{"a": {begun: []string{"jobs/report"}}}
	state.units = []*unit{u}
	if d := state.leave(u, "a", time.Now()); len(d.To) > 0 {
		t.Errorf("it restarts though nothing is drained: %+v", d)
	}
	state.drain("a")
	d := state.leave(u, "a", time.Now())
	if d.Reason != "" || len(d.To) != 1 || d.To[0] != "b" || d.Message != "jobs/report is stopped first, and begins anew there" {
		t.Errorf("it %+v", d)
	}
}
