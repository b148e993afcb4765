package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// settle is how long changes of a target's status are gathered into one write.
	settle = 200 * time.Millisecond
	// steps is how many statuses are written in a glance at most of which nothing has changed but
	// how far the targets have got: each is a write to disk and about 10 ms of work, and thousands
	// at once would be in the way of what people do.
	steps = 3
	// glance is how often sessions are compared with what their status says, in memory. A change
	// that an agent has not acknowledged a glance later makes it late.
	glance = time.Second
	// calm is after how many glances a session to which nothing has happened is looked at all the
	// same, to count what has crossed its link: it counts for the day on which that is done.
	calm = 60
	// crowd is from how many statuses on that have to be written there is a pause after each,
	// crowdPause times as long as the writing took.
	crowd        = 32
	crowdPause   = 2
	longestPause = time.Second
	// welcomeBack is how long after its start a center waits for its targets before it calls them
	// disconnected.
	welcomeBack = 20 * time.Second
	// welcomeSoon is how long after its start it says of them that they are silent. It says so of crowd
	// targets at most: of more, most are about to come back, and a write of each would delay that.
	welcomeSoon = 5 * time.Second
)

// revoked is why a site has no session, and gets none: the reason of its condition, and of what it
// is told.
const revoked = "Revoked"

var (
	syncTargets = v1alpha1.GroupVersion.WithResource("synctargets")
	locations   = v1alpha1.GroupVersion.WithResource("locations")
)

// runStatusWriter writes the status of touched targets until ctx ends.
func (srv *Server) runStatusWriter(ctx context.Context) {
	absent := time.NewTimer(welcomeBack)
	defer absent.Stop()
	late := time.NewTimer(welcomeSoon)
	defer late.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			srv.awaited.Store(true)
			if names := srv.withoutSession(); len(names) <= crowd {
				srv.targets.touch(names...)
			}
		case <-absent.C:
			srv.waited.Store(true)
			srv.targets.touch(srv.targets.names()...)
		case <-look.C:
			srv.findStaleStatuses()
		case <-srv.targets.wake:
			if !ondemand.Pause(ctx, settle) {
				return
			}
			if !srv.updateStatuses(ctx, srv.targets.takeChanged(), look.C) {
				return
			}
		}
	}
}

// updateStatuses brings the statuses of targets up to date. When there are many, sites are coming
// back all at once, and a status takes several times the work of letting a site in: so that it does
// not slow that down, and what changes meanwhile is written with the rest, there is a pause after
// each. It reports whether ctx still goes on.
func (srv *Server) updateStatuses(ctx context.Context, names []string, look <-chan time.Time) bool {
	for _, name := range names {
		began := time.Now()
		srv.updateStatus(ctx, name)
		if len(names) > crowd && !ondemand.Pause(ctx, min(crowdPause*time.Since(began), longestPause)) {
			return false
		}
		select {
		case <-look:
			srv.findStaleStatuses()
		default:
		}
	}
	return ctx.Err() == nil
}

// updateStatus brings one status up to date. What fails is left for the next look.
func (srv *Server) updateStatus(ctx context.Context, name string) {
	err := srv.writeStatus(ctx, name)
	if err == nil {
		err = srv.reconcileFinalizer(ctx, name)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	if !apierrors.IsConflict(err) { // which says that news of it are on their way
		srv.cfg.Log.Warn("the status of a target could not be written", "target", name, "err", err)
	}
	srv.targets.failed(name)
}

// findStaleStatuses finds the targets whose status may say something else than is so: the agent is
// late, or has caught up, or a write has failed. Of thousands of sessions nearly all have nothing
// to say, so it looks only at those to which something has happened.
func (srv *Server) findStaleStatuses() {
	var stepped []*session
	for _, s := range srv.changedSessions() {
		if s.checkDelivery(time.Now()) {
			srv.Recount(s.target)
		}
		known, _ := srv.targets.get(s.target)
		srv.account(s, time.Now())
		shown := s.lastShown()
		is := srv.siteState(s)
		s.trackLag(is, time.Now())
		switch {
		case is.urgent(shown), known.detach.waits(), drains(known.object):
			srv.targets.touch(s.target)
		case is.stale(shown):
			stepped = append(stepped, s)
		case is.done && known.link.perDay == 0:
			continue
		}
		s.markChanged()
	}
	now := time.Now()
	for _, l := range srv.links.All() {
		srv.accountData(l, now)
	}
	srv.followOwnLease()
	if trusted := srv.flaps.over(now); len(trusted) > 0 {
		srv.targets.touch(trusted...)
	}
	srv.listen(now)
	srv.assess(now)
	srv.runHeartbeats(now)
	srv.subtree.tick(time.Now())
	srv.touchOldest(stepped, steps)
	srv.targets.retry()
}

// changedSessions returns the sessions to look at.
func (srv *Server) changedSessions() (list []*session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, s := range srv.sessions {
		if s.checks++; s.changed.Swap(false) || s.checks%calm == 0 {
			list = append(list, s)
		}
	}
	return list
}

// touchOldest touches the n targets whose status was written longest ago.
func (srv *Server) touchOldest(of []*session, n int) {
	slices.SortFunc(of, older)
	for _, s := range of[:min(n, len(of))] {
		srv.targets.touch(s.target)
	}
}

// older orders sessions by when their status was written.
func older(a, b *session) int { return a.written.Compare(b.written) }

func (srv *Server) current() map[string]*session {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return maps.Clone(srv.sessions)
}

// writeStatus brings the status of a SyncTarget up to date. Before the center has waited for its
// targets, an absent one is left as it is.
func (srv *Server) writeStatus(ctx context.Context, name string) error {
	known, ok := srv.targets.get(name)
	if !ok {
		return nil
	}
	s, began := srv.session(name), time.Now()
	if s != nil && s.introduces(began) {
		srv.targets.failed(name) // so that it is looked at again in a glance
		return nil
	}
	st, before := known.object.DeepCopy(), &known.object.Status
	budget(st, known.link, srv.link(name, began))
	pulse := func() {}
	heard, left := srv.disconnected(name)
	if s == nil && left {
		lastSeen(st, heard)
	}
	switch {
	case s != nil:
		pulse = present(st, s, srv.siteState(s), srv.account(s, began))
		srv.quiet(st)
	case isRevoked(known.object, known.key):
		absent(st)
		set(st, v1alpha1.ConditionConnected, metav1.ConditionFalse, revoked, "the key of the site was revoked: it gets "+
			"no session and no certificate; "+
			"what runs there goes on. To let it back: skerry target release "+name)
	default:
		told := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionConnected) != nil
		if left || srv.waited.Load() || !told {
			absent(st)
		} else if srv.awaited.Load() {
			awaited(st)
		}
		srv.setRefusedCondition(st)
	}
	srv.setDetachingCondition(st, s)
	srv.setRenamingCondition(st)
	news := srv.setDrainedCondition(st, s)
	srv.setBoundsCondition(st)
	srv.leases.say(st)
	srv.flaps.say(st, s != nil)
	same := equality.Semantic.DeepEqual(*before, st.Status)
	if !same || s != nil && s.silent(began) {
		pulse()
	}
	if same && equality.Semantic.DeepEqual(*before, st.Status) {
		return nil
	}
	body, err := statusBody(st)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	api, err := srv.statuses()
	if err != nil {
		return err
	}
	err = api.Put().AbsPath(statusPath(name)...).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	srv.heartbeats.written(time.Now(), time.Since(began))
	if s != nil && err == nil {
		s.written = time.Now()
	}
	if err == nil {
		for _, e := range news {
			srv.cfg.Summary.Event(e)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// statusPath is where the status of a target is written as a whole, which the kube API does for
// little (apiserver/targetstatus.go).
func statusPath(name string) []string {
	return []string{"apis", syncTargets.Group, syncTargets.Version, syncTargets.Resource, name, "status"}
}

// statusBody is what is written there. It names the object that the status was made for, and the
// version of it.
func statusBody(st *v1alpha1.SyncTarget) ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "SyncTarget",
		"metadata": map[string]any{"name": st.Name, "uid": st.UID, "resourceVersion": st.ResourceVersion},
		"status":   &st.Status})
}

// disconnected reports whether a session of the target ended since this center started, and when it
// was last heard of.
func (srv *Server) disconnected(name string) (heard time.Time, left bool) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	heard, left = srv.left[name]
	return heard, left
}

// setLastSeen says to the minute when a connected target was heard, and reports whether that is
// news. A time that lies in the future, because a clock was set back, is replaced.
func setLastSeen(st *v1alpha1.SyncTarget, at time.Time) bool {
	minute := metav1.NewTime(at.Truncate(time.Minute))
	if last := st.Status.LastSeen; last != nil && !last.Before(&minute) && !last.After(time.Now()) {
		return false
	}
	st.Status.LastSeen = &minute
	return true
}

// lastSeen says to the second when a target was last heard of that is not heard now.
func lastSeen(st *v1alpha1.SyncTarget, at time.Time) {
	if second := metav1.NewTime(at.Truncate(time.Second)); !second.Equal(st.Status.LastSeen) {
		st.Status.LastSeen = &second
	}
}

// quiet says of a connected target that its agent is not heard: the session ends after tunnel.Idle.
func (srv *Server) quiet(st *v1alpha1.SyncTarget) {
	o, out := srv.cfg.Outages.Outage(st.Name)
	if !out || o.Reason != placement.OutageSilent {
		return
	}
	lastSeen(st, o.Since)
	set(st, v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonSilent,
		fmt.Sprintf("nothing has been heard of the agent since %s; "+
			"without a sign of life the session ends after %s", o.Since.UTC().Format(time.RFC3339), tunnel.Idle))
}

// present says what there is to say of a connected target, but for what changes all the time: that
// is what pulse adds, where the status is written anyway.
func present(st *v1alpha1.SyncTarget, s *session, is siteState, today v1alpha1.BytesToday) (pulse func()) {
	status := &st.Status
	status.Relay, status.AgentVersion, status.KubernetesVersion = s.hello.Relay, s.hello.AgentVersion,
		s.hello.KubernetesVersion
	if s.hello.Cluster != "" {
		status.ClusterUID = s.hello.Cluster
	}
	if identity := s.identity(); identity != nil {
		status.Identity = identity
	}
	status.Transport, status.Objects = s.conn.Transport(), int32(is.objects)
	set(st, v1alpha1.ConditionConnected, metav1.ConditionTrue, "SessionOpen", "the agent has a session over "+
		s.conn.Transport())
	duplicateCondition(st, s, time.Now())
	relate(st, is.said)
	subtreeTrouble(st, is.said, is.objects)
	if is.said != nil {
		permits(st, is.said)
		describe(st, is.said.Cluster)
		offers(st, is.said.Offer)
	}
	unkept(st, is.unkept)
	advance(status, is.progress)
	st.Status.Held = is.holdsBack(st.Status.Held)
	switch held := withheldCondition(st); {
	case held != nil:
		set(st, v1alpha1.ConditionSynced, metav1.ConditionFalse, held.Reason, held.Message)
	case is.done:
		set(st, v1alpha1.ConditionSynced, metav1.ConditionTrue, "UpToDate",
			"the target has durably stored all that is placed on it")
	case is.late:
		reason, message := "Behind", "changes are on their way to the target"
		if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionStoreHealthy); c != nil &&
			c.Status == metav1.ConditionFalse {
			reason, message = c.Reason, c.Message // they cannot arrive
		}
		set(st, v1alpha1.ConditionSynced, metav1.ConditionFalse, reason, message)
	}
	s.recordShown(is)
	return func() {
		if is.acked > 0 {
			status.AppliedRevision = is.acked
		}
		if setLastSeen(st, s.lastHeard()) {
			status.BytesToday, status.PendingBytes = &today, s.use.Waiting()
		}
	}
}

// unkept says that reports of a target are not kept, because they would take more of the center's
// disk than a target may.
func unkept(st *v1alpha1.SyncTarget, n int) {
	if n == 0 {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionReportsKept)
		return
	}
	set(st, v1alpha1.ConditionReportsKept, metav1.ConditionFalse, "TooMuchReported",
		fmt.Sprintf("%d reports of this site are not kept, because there are more of them, or they take more, "+
			"than a site may have: the status of those objects is not shown. Look on the site for what makes so many or so "+
			"large statuses, and remove it; what is left then comes by itself", n))
}

func absent(st *v1alpha1.SyncTarget) {
	service := "skerry-agent"
	if st.Status.Relay {
		service = "skerry-center"
	}
	set(st, v1alpha1.ConditionConnected, metav1.ConditionFalse, "NoSession",
		fmt.Sprintf("the agent has no session; what runs there goes on. On the site see: systemctl status %[1]s, "+
			"journalctl -u %[1]s", service))
	set(st, v1alpha1.ConditionSynced, metav1.ConditionUnknown, "NoSession", "unknown while the agent has no session")
}

func set(st *v1alpha1.SyncTarget, kind string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&st.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason,
		Message:            message,
		ObservedGeneration: st.Generation})
}
