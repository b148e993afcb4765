package sessions

import (
	"math"
	"sync"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/boottime"
	"skerry.dev/skerry/tunnel/lease"
)

func leasedTarget(name string, duration time.Duration, recorded *v1alpha1.SyncTargetLease) *v1alpha1.SyncTarget {
	st := &v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	st.Spec.Lease = &v1alpha1.Lease{Duration: metav1.Duration{Duration: duration}, OnExpiry: v1alpha1.ScaleToZero}
	st.Status.Lease = recorded
	return st
}

// What a leader may count on is what the SyncTarget says, from its own beginning on.
func TestALeaderCountsFromItsOwnBeginning(t *testing.T) {
	counted := catalog.NewLeases()
	l := newLeases(counted)
	held := &v1alpha1.SyncTargetLease{Duration: metav1.Duration{Duration: time.Minute}, OnExpiry: v1alpha1.ScaleToZero}
	l.wrote(leasedTarget("a", time.Minute, held))
	if l := counted.Lease("a", 0); l.Held {
		t.Error("a replica that stands by counts on a lease")
	}
	counted.Begin(boottime.Now())
	is := counted.Lease("a", 30*time.Second)
	want := time.Now().Add(time.Minute + 600*time.Millisecond + lease.Slack + 30*time.Second)
	if !is.Held || math.Abs(float64(is.Ends.Sub(want))) > float64(time.Second) {
		t.Errorf("%+v, want the end at %v", is, want)
	}
	l.rename("a", "b")
	if is := counted.Lease("b", 0); !is.Held || counted.Lease("a", 0).Held {
		t.Errorf("by its new name: %+v", is)
	}
	l.wrote(leasedTarget("b", time.Minute, nil))
	if is := counted.Lease("b", 0); is.Held || !is.Wanted {
		t.Errorf("nothing is confirmed: %+v", is)
	}
	l.forget("b")
	if is := counted.Lease("b", 0); is != (counted.Lease("never", 0)) {
		t.Errorf("of a target that is gone: %+v", is)
	}
}

// The record goes before the promise, and the condition says how far it is.
func TestALeaseIsRecordedThenGrantedThenConfirmed(t *testing.T) {
	l := newLeases(catalog.NewLeases())
	st := leasedTarget("a", time.Minute, nil)
	l.wrote(st)
	ask := func(r lease.Request) lease.Answer {
		of := l.of["a"]
		a := of.Granter.Answer(r, of.want, of.recorded, lease.Own{})
		of.next, of.last = of.Record(r, of.want, of.recorded, lease.Own{}), &r
		l.say(st)
		l.wrote(st)
		return a
	}
	reason := func() string {
		return apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionLeaseConfirmed).Reason
	}
	if a := ask(lease.Request{N: 1}); a.Terms != (lease.Terms{}) {
		t.Errorf("granted before it was recorded: %+v", a)
	}
	if st.Status.Lease == nil || st.Status.Lease.OnExpiry != v1alpha1.KeepRunning || reason() != "NotConfirmed" {
		t.Errorf("recorded: %+v, %s", st.Status.Lease, reason())
	}
	a := ask(lease.Request{N: 2})
	if !a.Terms.Fences() || a.For != time.Minute || recordOf(st.Status.Lease).Fences() {
		t.Errorf("granted %+v, recorded %+v", a, st.Status.Lease)
	}
	ask(lease.Request{N: 3, Answered: 2, Has: a.Terms})
	if !recordOf(st.Status.Lease).Fences() || reason() != "Confirmed" {
		t.Errorf("after it was confirmed: %+v, %s", st.Status.Lease, reason())
	}
	if a := ask(lease.Request{N: 4, Answered: 3, Has: a.Terms, Refuses: true}); !a.Terms.Fences() {
		t.Errorf("let off before that was recorded: %+v", a)
	}
	if recordOf(st.Status.Lease).Fences() || reason() != "SiteRefuses" {
		t.Errorf("a site that refuses: %+v, %s", st.Status.Lease, reason())
	}
	if a := ask(lease.Request{N: 5, Answered: 4, Has: a.Terms, Refuses: true}); a.Terms.Fences() {
		t.Errorf("not let off: %+v", a)
	}
}

// heldLease is a site's end of a lease.
type heldLease struct {
	mu     sync.Mutex
	holder *lease.Holder
}

func (h *heldLease) Begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holder.Begin()
}

func (h *heldLease) Request() (lease.Request, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.holder.Request(boottime.Now(), false)
	return r, r.Has.Renewal()
}

func (h *heldLease) Answered(a lease.Answer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.holder.State().Terms
	h.holder.Answered(boottime.Now(), a)
	return before != h.holder.State().Terms
}

func (h *heldLease) terms() lease.Terms {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holder.State().Terms
}

// A whole session: the agent hears of other terms at once, and the center counts on it once it has
// confirmed them.
func TestASessionGrantsTheLease(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("a")
	held := &heldLease{holder: lease.Load(lease.State{}, "boot")}
	l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Lease = held })
	<-l.welcome
	l.says.Set(tunnel.Condition{Type: tunnel.ClockInSync, Status: tunnel.True, Reason: "InSync"})
	set := func(spec map[string]any) {
		c.api.change(targetsPath+"/a", map[string]any{"spec": map[string]any{"lease": spec}})
	}
	set(map[string]any{"duration": "1m", "onExpiry": "ScaleToZero"})
	within(t, "the agent is bound", func() bool {
		return held.terms() == (lease.Terms{Duration: time.Minute, Stop: true})
	})
	within(t, "the center counts on it", func() bool { return c.sessions.cfg.Leases.Lease("a", 0).Held })
	set(map[string]any{"duration": "1m", "onExpiry": "KeepRunning"})
	within(t, "the center does not count on it", func() bool { return !c.sessions.cfg.Leases.Lease("a", 0).Held })
	within(t, "the agent is let off", func() bool { return !held.terms().Stop })
}
