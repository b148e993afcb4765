package summary

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// patience is how long a mirror waits for that of what controls it. A site reports Pods at once,
// and ReplicaSets and Jobs a moment later.
const patience = 3 * time.Second

// controlled gives a reported object the owner that it has at the target, as that is in the space:
// the ReplicaSet of a Pod, say. It reports false while that is not there and may still come. An
// object whose controller never comes belongs to the placed object itself. A claim that nothing
// controls at the target has no owner here either.
func (s *Summary) controlled(k store.Key, target string, object map[string]any) bool {
	meta := fields.Map(object, "metadata")
	refs := fields.List(meta, "ownerReferences")
	if len(refs) == 0 {
		return true
	}
	first, _ := refs[0].(map[string]any)
	if loose(k, first) {
		delete(meta, "ownerReferences")
		return true
	}
	first = map[string]any{
		"apiVersion": first["apiVersion"], "kind": first["kind"], "name": first["name"], "uid": first["uid"],
		"controller": true, "blockOwnerDeletion": true,
	}
	if k.Resource == "resourceclaims" { // the controller that makes them says only the one
		delete(first, "blockOwnerDeletion")
	}
	meta["ownerReferences"] = []any{first}
	if len(refs) == 1 {
		return true
	}
	second, _ := refs[1].(map[string]any)
	above := store.Key{
		Space:     k.Space,
		Group:     groupOf(fields.String(second, "apiVersion")),
		Resource:  mirroredResource(fields.String(second, "kind")),
		Namespace: k.Namespace,
		Name:      fields.String(second, "name"),
	}
	if !isMirrored(above) {
		return true
	}
	name, uid, waits := s.above(k, target, above)
	if uid != "" {
		first["apiVersion"], first["kind"] = second["apiVersion"], second["kind"]
		first["name"], first["uid"] = name, uid
	}
	return !waits
}

// above looks for the mirror of what controls a reported object, and has it woken when that comes
// or goes.
func (s *Summary) above(
	k store.Key,
	target string,
	above store.Key,
) (name, uid string, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mirrorOfLocked(k)
	s.belowLocked(k, m, above)
	if found := s.mirrors[above]; found != nil {
		for n, o := range found.objects {
			if o.target == target && o.uid != "" {
				m.waits = time.Time{}
				return n, o.uid, false
			}
		}
	}
	if m.waits.IsZero() {
		m.waits = time.Now()
	}
	rest := patience - time.Since(m.waits)
	if rest > 0 {
		s.queue.AddAfter(k, rest)
	}
	return "", "", rest > 0
}

// belowLocked records what controls a reported object; an empty key is nothing.
func (s *Summary) belowLocked(k store.Key, m *mirrored, above store.Key) {
	if m.above == above {
		return
	}
	if all := s.below[m.above]; all != nil {
		if delete(all, k); len(all) == 0 {
			delete(s.below, m.above)
		}
	}
	if m.above = above; above == (store.Key{}) {
		return
	}
	if s.below[above] == nil {
		s.below[above] = map[store.Key]bool{}
	}
	s.below[above][k] = true
}

// wakeBelowLocked looks again at what a reported object controls: its mirror is another one, or has
// gone.
func (s *Summary) wakeBelowLocked(k store.Key) {
	for below := range s.below[k] {
		s.queue.Add(below)
	}
}

// usualGrace is how long Kubernetes waits for the end of a Pod that says nothing else, in seconds.
const usualGrace = 30

// deleting reports whether a Pod or a claim is being deleted at its target, and its grace period
// there. A claim has none: it stays while something uses it.
func deleting(k store.Key, object map[string]any) (bool, int64) {
	meta := fields.Map(object, "metadata")
	if fields.String(meta, "deletionTimestamp") == "" {
		return false, 0
	}
	switch k.Resource {
	case "pods":
	case "persistentvolumeclaims", "resourceclaims":
		return true, 1
	default:
		return false, 0
	}
	if grace, ok := meta["deletionGracePeriodSeconds"].(float64); ok {
		return true, max(1, int64(grace))
	}
	return true, usualGrace
}

// terminate shows that a mirrored Pod or claim is being deleted at its target.
func (s *Summary) terminate(ctx context.Context, k store.Key, name string, w wanted) error {
	s.mu.Lock()
	m := s.mirrors[k]
	known := m != nil
	var o mirror
	if known {
		o, known = m.objects[name]
	}
	s.mu.Unlock()
	if !w.deleting || !known || o.deleting || o.target != w.target {
		return nil
	}
	pk := k
	pk.Name = name
	err := s.cfg.API.Terminate(ctx, pk, mirroredVersion(pk), o.uid, w.grace)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("show that %s is being deleted: %w", pk, err)
	}
	return nil
}
