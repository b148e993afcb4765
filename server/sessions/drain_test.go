package sessions

import (
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

func TestBoundsAreSaid(t *testing.T) {
	cpu, pods := resource.MustParse("1"), int64(2)
	used := placement.Requests{CPU: 900, Memory: 1 << 30, Pods: 2}
	s := &stub{count: func() int { return 7 }, room: func() placement.Room { return placement.Room{Requested: used} }}
	srv := &Server{cfg: s.in(Config{})}
	st := &v1alpha1.SyncTarget{Spec: v1alpha1.SyncTargetSpec{Bounds: &v1alpha1.Bounds{CPU: &cpu, Pods: &pods}}}
	srv.setBoundsCondition(st)
	if r := st.Status.Requested; !apimeta.IsStatusConditionTrue(st.Status.Conditions, v1alpha1.ConditionWithinBounds) ||
		r.CPU.String() != "900m" || r.Memory.String() != "1Gi" || *r.Pods != 2 || *r.Objects != 7 {
		t.Errorf("said: %+v", st.Status)
	}
	used.Pods = 3
	srv.setBoundsCondition(st)
	if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionWithinBounds); c.Status != "False" ||
		!strings.Contains(c.Message, "pods 3 of 2") {
		t.Errorf("said: %+v", c)
	}
	st.Spec.Bounds = nil
	if srv.setBoundsCondition(st); len(st.Status.Conditions) != 0 || st.Status.Requested != nil {
		t.Error("it is said when there are no bounds any more")
	}
}

func TestWhatIsLeftOfADrain(t *testing.T) {
	stuck := func() []placement.Moving {
		return []placement.Moving{
			{Key: store.Key{Space: "shop", Resource: "namespaces", Name: "a"}, From: []string{"paris"},
				Phase: placement.CannotLeave, Message: "no other target fits"},
			{Key: store.Key{Space: "shop", Resource: "namespaces", Name: "b"}, From: []string{"paris"},
				Phase: placement.Waiting},
		}
	}
	queued := func() []placement.Moving {
		return []placement.Moving{{From: []string{"paris"}, Phase: placement.WaitsForTurn},
			{From: []string{"paris"}, Phase: placement.Waiting},
			{From: []string{"lyon"}, To: []string{"paris"}, Phase: placement.WaitsForTurn}}
	}
	const drained = placement.LeaveDrained
	for name, c := range map[string]struct {
		left     placement.Remaining
		moves    func() []placement.Moving
		reported int
		want     string
	}{
		"moving": {left: placement.Remaining{Why: drained, Units: 2}, want: "False Draining 2 units are still here"},
		"in turn": {left: placement.Remaining{Why: drained, Units: 2}, moves: queued,
			want: "False Draining 2 units are still here, 1 of them until others have left (spec.drain.maxConcurrent)"},
		"one stuck": {left: placement.Remaining{Why: drained, Units: 2}, moves: stuck,
			want: "False Draining 2 units are still here, and 1 cannot leave"},
		"stuck": {left: placement.Remaining{Why: drained, Units: 1}, moves: stuck,
			want: "False CannotLeave 1 unit is still here, and 1 cannot leave: " +
				"shop/core/namespaces/_/a: no other"},
		"halted": {left: placement.Remaining{Why: placement.LeaveAway, Units: 1, Halted: true},
			want: "False EvictionHalted"},
		"away":       {left: placement.Remaining{Why: placement.LeaveAway}, want: "True Left"},
		"being gone": {left: placement.Remaining{Why: placement.LeaveRemoved, Units: 1}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{moves: c.moves, remaining: func() (placement.Remaining, bool) { return c.left, true },
				len: func() int { return c.reported }}
			srv := &Server{cfg: s.in(Config{Log: slog.New(slog.DiscardHandler)})}
			st := &v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}
			srv.setDrainedCondition(st, nil)
			got := ""
			if is := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionDrained); is != nil {
				got = string(is.Status) + " " + is.Reason + " " + is.Message
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("said: %s", got)
			}
			if (st.Status.Drain != nil) != (c.want != "") ||
				st.Status.Drain != nil && st.Status.Drain.Units != int32(c.left.Units) {
				t.Errorf("counted: %+v", st.Status.Drain)
			}
			s.remaining = nil
			srv.setDrainedCondition(st, nil)
			if len(st.Status.Conditions) != 0 || st.Status.Drain != nil {
				t.Error("it is said when the drain is over")
			}
		})
	}
}

func TestADrainSaysWhatTheSiteKeeps(t *testing.T) {
	kept := []v1alpha1.Refusal{{Object: "shop/core/namespaces/_/db", Reason: "NotEmpty",
		Message: "it holds persistentvolumeclaims/data-0; remove them, and it goes too"}}
	for name, c := range map[string]struct {
		acked    bool
		refusals []v1alpha1.Refusal
		want     string
	}{
		"on its way":  {false, kept, "Emptying: 2 objects and pods are still on the target"},
		"being gone":  {true, nil, "Emptying: 2 objects and pods are still on the target"},
		"kept, named": {true, kept, "NotEmpty: 2 objects and pods are still on the target; shop/core/namespaces/_/db: " + kept[0].Message},
	} {
		if reason, message := emptying(2, c.acked, c.refusals); reason+": "+message != c.want {
			t.Errorf("%s: %s: %s", name, reason, message)
		}
	}
}

func TestADrainIsLookedAtUntilItIsOver(t *testing.T) {
	at := func(spec v1alpha1.SyncTargetSpec, drained metav1.ConditionStatus) *v1alpha1.SyncTarget {
		st := &v1alpha1.SyncTarget{Spec: spec}
		if drained != "" {
			set(st, v1alpha1.ConditionDrained, drained, "Test", "")
		}
		return st
	}
	none := v1alpha1.SyncTargetSpec{}
	tainted := v1alpha1.SyncTargetSpec{Taints: []corev1.Taint{
		{Key: v1alpha1.TaintDrain, Effect: corev1.TaintEffectNoExecute}}}
	for name, c := range map[string]struct {
		st   *v1alpha1.SyncTarget
		want bool
	}{
		"not known":     {nil, false},
		"not drained":   {at(none, ""), false},
		"begins":        {at(tainted, ""), true},
		"goes on":       {at(tainted, metav1.ConditionFalse), true},
		"is over":       {at(tainted, metav1.ConditionTrue), false},
		"is taken back": {at(none, metav1.ConditionTrue), true},
	} {
		if got := drains(c.st); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !redecided(&none, &tainted) || redecided(&tainted, &tainted) {
		t.Error("another taint is no news, or the same is")
	}
}
