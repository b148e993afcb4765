package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// detach is what a SyncTarget says of its own removal.
type detach struct {
	clean    bool // everything is removed from the target first
	deleting bool
	held     bool // it has our finalizer
}

func detachOf(st *v1alpha1.SyncTarget) detach {
	return detach{
		st.Spec.DetachPolicy.Empties(),
		st.DeletionTimestamp != nil,
		slices.Contains(st.Finalizers, v1alpha1.FinalizerDetach),
	}
}

// waits reports whether a SyncTarget waits for its target to be empty.
func (is detach) waits() bool { return is.deleting && is.held }

// remains is how much a target that is being emptied still has, by its own reports; known is false
// while it has not taken over the order.
func (srv *Server) remains(s *session) (n int, known bool) {
	if s == nil || !s.state(srv.cfg.Delivery.Count(s.target)).done {
		return 0, false
	}
	return srv.cfg.Inboxes.Len(s.target), true
}

// reconcileFinalizer puts our finalizer on a SyncTarget whose policy empties it, and takes it off
// when the target is empty or the policy is another.
func (srv *Server) reconcileFinalizer(ctx context.Context, name string) error {
	known, ok := srv.targets.get(name)
	if !ok {
		return nil
	}
	is := known.detach
	want := is.clean
	if is.deleting {
		n, acked := srv.remains(srv.session(name))
		want = is.held && is.clean && (!acked || n > 0)
	}
	if want == is.held {
		return nil
	}
	st := known.object
	finalizers := slices.DeleteFunc(
		slices.Clone(st.Finalizers),
		func(f string) bool { return f == v1alpha1.FinalizerDetach },
	)
	if want {
		finalizers = append(finalizers, v1alpha1.FinalizerDetach)
	}
	patch, err := json.Marshal(
		map[string]any{
			"metadata": map[string]any{"uid": st.UID, "resourceVersion": st.ResourceVersion, "finalizers": finalizers},
		},
	)
	if err != nil {
		return err
	}
	client, err := srv.client()
	if err != nil {
		return err
	}
	_, err = client.Resource(
		syncTargets,
	).Patch(
		ctx,
		name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{FieldManager: "skerry"},
	)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err == nil && is.deleting {
		srv.cfg.Log.Info("the target is detached", "target", name, "clean", is.clean)
	}
	return err
}

// setDetachingCondition says how far the removal of a SyncTarget is.
func (srv *Server) setDetachingCondition(st *v1alpha1.SyncTarget, s *session) {
	if st.DeletionTimestamp == nil || !slices.Contains(st.Finalizers, v1alpha1.FinalizerDetach) {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionDetaching)
		return
	}
	n, acked := srv.remains(s)
	reason, message := "Cleaning", fmt.Sprintf("%d objects and pods are still on the target", n)
	left, _ := srv.cfg.Delivery.Remaining(st.Name)
	switch {
	case left.Units > 0:
		reason, message = "Moving", fmt.Sprintf("%d units move away first; see: skerry status %s", left.Units, st.Name)
		if stuck := stuckOf(srv.cfg.Delivery.MovesOf(st.Name)); len(stuck) > 0 {
			reason = string(placement.CannotLeave)
			message = fmt.Sprintf("%s, and %d cannot leave: %s: %s. To delete what nothing replaces, with its data: "+
				"skerry target remove %s --clean --allow-loss=%d", here(left.Units), len(stuck), stuck[0].Key,
				placement.Words(stuck[0].Message), st.Name, len(stuck))
		}
	case s == nil:
		reason, message = "Unreachable", "the agent has no session; what was placed is removed when it is back. To let "+
			"the site go as it is: "+
			"skerry target remove "+st.Name+" --force"
	case !acked:
		message = "the target is told to remove everything"
	}
	set(st, v1alpha1.ConditionDetaching, metav1.ConditionTrue, reason, message)
}
