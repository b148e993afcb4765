package sessions

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
)

// quietFor returns how long nothing may come over a link until its agent counts as silent: an agent
// asks for a heartbeat more often.
func quietFor(class delta.Class) time.Duration { return tunnel.KeepAliveOf(class) + signTime }

// signTime is how long after it is due a heartbeat may come: the agent looks each second, and the
// link has a delay.
const signTime = 2500 * time.Millisecond

// listen notes which sessions have been heard since the last call. It is of the goroutine of
// runStatusWriter alone.
func (srv *Server) listen(now time.Time) {
	for _, s := range srv.current() {
		if received := s.conn.Stats().ReceivedBytes; received != s.received {
			s.received = received
			s.mu.Lock()
			s.heard = now
			s.mu.Unlock()
		}
	}
}

// lastHeard is when it was noticed the last time that something had come.
func (s *session) lastHeard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

// assess finds the targets whose outage has begun or ended.
func (srv *Server) assess(now time.Time) {
	for _, name := range srv.targets.names() {
		srv.assessOne(name, now)
	}
}

func (srv *Server) assessOne(name string, now time.Time) {
	is, out, known := srv.outageOf(name, now)
	if !known || !srv.cfg.Outages.Set(name, is, out) {
		return
	}
	srv.targets.touch(name)
	srv.cfg.Summary.Outage(name)
}

// outageOf judges a target. known is false while this center has just started and the target may
// still come: what was last said of it holds.
func (srv *Server) outageOf(name string, now time.Time) (is placement.Outage, out, known bool) {
	t, ok := srv.targets.get(name)
	if !ok {
		return is, false, true
	}
	s := srv.session(name)
	if s == nil {
		return srv.absence(name, t)
	}
	if heard := s.lastHeard(); now.Sub(heard) >= quietFor(t.link.class) {
		return placement.Outage{Reason: placement.OutageSilent, Since: heard}, true, true
	}
	s.mu.Lock()
	said := s.said
	s.mu.Unlock()
	if said == nil { // a new session: its agent is heard, and has not said yet how its cluster is
		before, was := srv.cfg.Outages.Outage(name)
		return is, false, !was || before.Reason == placement.OutageSilent
	}
	for _, c := range said.Conditions {
		if c.Type == tunnel.TargetReachable && c.Status == tunnel.False {
			return placement.Outage{
				Reason: placement.OutageCluster,
				Since:  since(t, v1alpha1.ConditionTargetReachable, now),
				Detail: c.Reason,
			}, true, true
		}
	}
	return subtree(t, said.Subtree, now)
}

// absence judges a target that has no session.
func (srv *Server) absence(name string, t target) (is placement.Outage, out, known bool) {
	is = placement.Outage{Reason: placement.OutageSilent, Since: t.object.CreationTimestamp.Time}
	if seen := t.object.Status.LastSeen; seen != nil {
		is.Since = seen.Time
	}
	heard, left := srv.disconnected(name)
	if left {
		is.Since = heard
	}
	absent := apimeta.IsStatusConditionFalse(t.object.Status.Conditions, v1alpha1.ConditionConnected)
	return is, true, left || absent || srv.waited.Load()
}

// subtree judges a relay of whose sites none is connected, or that has none.
func subtree(t target, below *tunnel.SubtreeStatus, now time.Time) (is placement.Outage, out, known bool) {
	if below == nil || below.Reach == nil || below.Reach.Connected > 0 {
		return is, false, true
	}
	if below.Reach.Targets == 0 {
		if t.object.Status.Objects == 0 {
			return is, false, true
		}
		return placement.Outage{
			Reason: placement.OutageNoSites,
			Since:  since(t, v1alpha1.ConditionSubtreeHealthy, now),
		}, true, true
	}
	is = placement.Outage{Reason: placement.OutageBelow}
	for _, a := range below.Reach.Away {
		if at := time.Unix(a.Since, 0); at.After(is.Since) {
			is.Since = at
		}
	}
	if is.Since.IsZero() {
		is.Since = now
	}
	return is, true, true
}

// since is when a condition of a target became False, now where it has not been written yet.
func since(t target, kind string, now time.Time) time.Time {
	if c := apimeta.FindStatusCondition(t.object.Status.Conditions, kind); c != nil &&
		c.Status == metav1.ConditionFalse {
		return c.LastTransitionTime.Time
	}
	return now
}

// withoutSession are the targets that have no session.
func (srv *Server) withoutSession() (names []string) {
	sessions := srv.current()
	for _, name := range srv.targets.names() {
		if sessions[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// awaited says of a target that was connected before this center started that it has not come back yet.
func awaited(st *v1alpha1.SyncTarget) {
	if apimeta.IsStatusConditionTrue(st.Status.Conditions, v1alpha1.ConditionConnected) {
		set(st, v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonSilent,
			"the center was started, and the agent has not come back to it yet")
	}
}
