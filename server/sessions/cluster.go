package sessions

import (
	"fmt"
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// The reasons for which a session is refused for good.
const (
	clusterKnown = "ClusterKnown"
	ownParent    = "OwnParent"
)

// sameLocked refuses a second name for a cluster: two agents would delete and rewrite each other's
// objects. A cluster that the target was let in with before is not refused.
func (srv *Server) sameLocked(name string, hello tunnel.Hello) error {
	if hello.Cluster == "" || hello.Force {
		return nil
	}
	if known, ok := srv.targets.get(name); ok && known.object.Status.ClusterUID == hello.Cluster {
		return nil
	}
	other := srv.targets.withCluster(hello.Cluster, name)
	for _, s := range srv.sessions {
		if other == "" && s.target != name && s.hello.Cluster == hello.Cluster {
			other = s.target
		}
	}
	if other == "" {
		return nil
	}
	return &tunnel.Refused{
		Reason: clusterKnown,
		Final:  true,
		Message: fmt.Sprintf(
			"the cluster of site %q is site %q here already (the UID of its Namespace kube-system is %s), and under two "+
				"names it would delete and rewrite its own objects. Where %q is no more: skerry target remove %s. Where "+
				"this cluster is a copy of that one: start the agent with --force",
			name,
			other,
			hello.Cluster,
			other,
			other,
		),
	}
}

// withCluster returns the first target, but for one, that has a cluster.
func (t *targets) withCluster(uid, but string) (name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, k := range t.known {
		if other != but && k.object.Status.ClusterUID == uid && (name == "" || other < name) {
			name = other
		}
	}
	return name
}

// loops refuses a relay that is this center, or above it: what it wants would come back to it for
// ever.
func (srv *Server) loops(name string, hello tunnel.Hello) error {
	switch {
	case hello.Center.IsZero():
		return nil
	case hello.Center == srv.cfg.Incarnation:
		return &tunnel.Refused{
			Reason: ownParent,
			Final:  true,
			Message: fmt.Sprintf(
				"the relay %q is this very center: it was started with its own address as --parent",
				name,
			),
		}
	case slices.Contains(srv.above(), hello.Center):
		return &tunnel.Refused{
			Reason:  ownParent,
			Final:   true,
			Message: fmt.Sprintf("the relay %q is above this center: its --parent leads back to it", name),
		}
	}
	return nil
}

// above are the centers above this one.
func (srv *Server) above() []store.Incarnation {
	return srv.cfg.Center.Above()
}

// unwelcome notes why a target was refused for good: its status says so.
func (srv *Server) unwelcome(name string, err error) error {
	why := tunnel.FinalRefusal(err)
	srv.cfg.Log.Warn("a target was refused", "target", name, "reason", why.Reason, "why", why.Message)
	srv.mu.Lock()
	srv.unwanted[name] = why
	srv.mu.Unlock()
	srv.targets.touch(name)
	return err
}

// setRefusedCondition says in a status why the target has no session, when that is because it was
// refused.
func (srv *Server) setRefusedCondition(st *v1alpha1.SyncTarget) {
	srv.mu.Lock()
	why := srv.unwanted[st.Name]
	srv.mu.Unlock()
	if why != nil {
		set(st, v1alpha1.ConditionConnected, "False", why.Reason, why.Message)
	}
}
