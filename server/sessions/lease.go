package sessions

import (
	"fmt"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/lease"
)

// leases are those of all targets. Nobody is called while mu is held but what may be counted on.
type leases struct {
	counted *catalog.Leases
	mu      sync.Mutex
	of      map[string]*targetLease
	own     lease.Own // what bound this center as a relay at the last glance, without what was left
}

// targetLease is the lease of one target.
type targetLease struct {
	lease.Granter
	want, recorded lease.Terms    // as of the last write of the SyncTarget
	last           *lease.Request // the last one of this center's time; nil while there was none
	next           lease.Record   // what status.lease is to be
}

func newLeases(counted *catalog.Leases) *leases {
	return &leases{counted: counted, of: map[string]*targetLease{}}
}

// count has what is known of a target's lease counted on. mu is held.
func (t *targetLease) count(name string, on *catalog.Leases) {
	on.Set(name, catalog.Lease{Wanted: t.want.Fences(), Refused: t.refused(), Recorded: t.recorded})
}

// refused reports whether the site refuses to stop anything.
func (t *targetLease) refused() bool { return t.last != nil && t.last.Refuses }

// getLocked returns the lease of a target.
func (l *leases) getLocked(name string) *targetLease {
	t := l.of[name]
	if t == nil {
		t = &targetLease{}
		l.of[name] = t
	}
	return t
}

// wrote takes over what a SyncTarget says now, and reports whether its agent is to ask again.
func (l *leases) wrote(obj *v1alpha1.SyncTarget) (news bool) {
	want, recorded := termsOf(obj.Spec.Lease), recordOf(obj.Status.Lease)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.getLocked(obj.Name)
	news = t.want != want || t.recorded != recorded
	t.want, t.recorded = want, recorded
	t.count(obj.Name, l.counted)
	return news
}

func (l *leases) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, name)
	l.counted.Forget(name)
}

// rename gives what is known of a target to another name of it.
func (l *leases) rename(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	catalog.RenameIn(l.of, from, to)
	l.counted.Rename(from, to)
}

// termsOf reads spec.lease, which the kube API has validated.
func termsOf(l *v1alpha1.Lease) lease.Terms {
	if l == nil {
		return lease.Terms{}
	}
	return lease.Terms{Duration: l.Duration.Duration, Stop: l.OnExpiry == v1alpha1.ScaleToZero}
}

// recordOf reads status.lease.
func recordOf(l *v1alpha1.SyncTargetLease) lease.Record {
	if l == nil {
		return lease.Record{}
	}
	return lease.Record{Duration: l.Duration.Duration, Stop: l.OnExpiry == v1alpha1.ScaleToZero}
}

// leaseOf answers the requests of one session. It implements tunnel.LeaseGranter.
type leaseOf struct {
	server  *Server
	session *session
}

var _ tunnel.LeaseGranter = leaseOf{}

// Begin implements tunnel.LeaseGranter.
func (o leaseOf) Begin() {
	l := o.server.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	l.getLocked(o.session.target).Begin()
}

// Answer implements tunnel.LeaseGranter. Only the session that the target has is answered, and only
// by a center that leads: another one may count on it that nobody is.
func (o leaseOf) Answer(r lease.Request) (lease.Answer, bool) {
	srv, name := o.server, o.session.target
	if srv.session(name) != o.session || !srv.cfg.Center.Leads() {
		return lease.Answer{}, false
	}
	behind := o.session.lacks() // also where it does not say yet that it has ended
	own, known := srv.cfg.Center.Lease()
	if !known {
		return lease.Answer{}, false
	}
	srv.leases.mu.Lock()
	t := srv.leases.getLocked(name)
	before, first := t.next, t.last == nil
	a := t.Granter.Answer(r, t.want, t.recorded, own)
	a.Behind = behind || own.Bound && own.Left <= 0
	t.next = t.Record(r, t.want, t.recorded, own)
	news := first || before != t.next || t.next != t.recorded || t.last.Refuses != r.Refuses
	t.last = &r
	if t.count(name, srv.leases.counted); a.For > 0 {
		srv.leases.counted.Granted(name)
	}
	srv.leases.mu.Unlock()
	if news {
		srv.targets.touch(name)
	}
	return a, true
}

// lacks reports whether the agent has not stored all that its feed has now.
func (s *session) lacks() bool {
	s.mu.Lock()
	acked := s.acked
	s.mu.Unlock()
	return acked.Incarnation != s.feed.Head().Incarnation || len(s.feed.Since(acked.Revision, 1)) > 0
}

// followOwnLease has all targets of a relay ask again when its own lease is of other terms.
func (srv *Server) followOwnLease() {
	own, known := srv.cfg.Center.Lease()
	if !known {
		return
	}
	own.Left = 0
	srv.leases.mu.Lock()
	news := own != srv.leases.own
	srv.leases.own = own
	srv.leases.mu.Unlock()
	if !news {
		return
	}
	for _, s := range srv.current() {
		s.commands.Put(tunnel.AskLease{})
	}
}

// LeasesBelow reports whether a target has not confirmed yet that it stops at the end of a lease of
// these terms, and whether one refuses that: a relay can promise no more than its targets have.
func (srv *Server) LeasesBelow(terms lease.Terms) (pending, refuses bool) {
	srv.leases.mu.Lock()
	defer srv.leases.mu.Unlock()
	for _, t := range srv.leases.of {
		pending = pending || !t.recorded.Fences() || t.recorded.Duration > terms.Duration
		refuses = refuses || t.refused()
	}
	return pending, refuses
}

// say brings status.lease and its condition up to date with what the agent said last.
func (l *leases) say(st *v1alpha1.SyncTarget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.of[st.Name]
	if t == nil {
		return
	}
	if t.last != nil {
		st.Status.Lease = nil
		if t.next != (lease.Record{}) {
			st.Status.Lease = &v1alpha1.SyncTargetLease{
				Duration: metav1.Duration{Duration: t.next.Duration}, OnExpiry: v1alpha1.KeepRunning,
			}
			if t.next.Stop {
				st.Status.Lease.OnExpiry = v1alpha1.ScaleToZero
			}
		}
	}
	switch {
	case !t.want.Fences() && !recordOf(st.Status.Lease).Fences():
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionLeaseConfirmed)
	case t.refused():
		set(st, v1alpha1.ConditionLeaseConfirmed, metav1.ConditionFalse, "SiteRefuses", "the agent was started with "+
			"--allow-scale-to-zero=false, so nothing is stopped there when it is not heard, and what must not run twice "+
			"stays there: start it without that, or set spec.lease.onExpiry to KeepRunning")
	case recordOf(st.Status.Lease).Fences():
		set(st, v1alpha1.ConditionLeaseConfirmed, metav1.ConditionTrue, "Confirmed", fmt.Sprintf("when the agent has "+
			"not heard the center for %s it stops what must not run twice, and some time after that it may run elsewhere",
			st.Status.Lease.Duration.Duration))
	default:
		set(st, v1alpha1.ConditionLeaseConfirmed, metav1.ConditionFalse, "NotConfirmed",
			"the agent has not said yet that it stops what must not run twice; until then that stays on this target")
	}
}
