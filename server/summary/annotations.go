package summary

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// annotations is what annotations of an object say: skerry.dev/refused and
// skerry.dev/unreachable-since. Kinds without conditions (ConfigMaps, Secrets, ServiceAccounts),
// and custom resources whose status is not the targets' to say, have them instead of conditions:
// people find them there, and a relay's agent takes a refusal up to the parent.
type annotations struct{ refused, unreachable string }

// marked is an object's mark, with what is needed to take it off again.
type marked struct {
	annotations
	apiVersion, uid string
}

// observeMarkLocked takes over an object's mark.
func (s *Summary) observeMarkLocked(w store.Write) {
	if takesConditions(w.Key) && placement.BuiltIn(w.Key.Group) {
		return
	}
	meta := fields.Map(w.Object, "metadata")
	notes := fields.Map(meta, "annotations")
	m := marked{apiVersion: w.APIVersion}
	m.refused = fields.String(notes, v1alpha1.AnnotationRefused)
	m.unreachable = fields.String(notes, v1alpha1.AnnotationUnreachable)
	m.uid = fields.String(meta, "uid")
	if m.annotations == (annotations{}) {
		delete(s.marked, w.Key)
		return
	}
	if _, known := s.marked[w.Key]; !known {
		s.queue.Add(w.Key)
	}
	s.marked[w.Key] = m
}

// markAs writes what the mark should say, if it does not say so already.
func (s *Summary) markAs(ctx context.Context, k store.Key, want annotations) error {
	s.mu.Lock()
	m := s.marked[k]
	s.mu.Unlock()
	if m.annotations == want {
		return nil
	}
	if at, ok := s.cfg.Delivery.Located(k); ok {
		m.apiVersion, m.uid = at.APIVersion, at.UID
	}
	notes := map[string]any{v1alpha1.AnnotationRefused: nil, v1alpha1.AnnotationUnreachable: nil}
	if want.refused != "" {
		notes[v1alpha1.AnnotationRefused] = want.refused
	}
	if want.unreachable != "" {
		notes[v1alpha1.AnnotationUnreachable] = want.unreachable
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.uid, "annotations": notes}})
	if err != nil {
		return fmt.Errorf("encode mark of %s: %w", k, err)
	}
	if _, err := s.cfg.API.Patch(ctx, k, m.apiVersion, "", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("mark %s: %w", k, err)
	}
	return nil
}

// saysUnreachable reports whether an object has the condition skerry.dev/Reachable, which stands
// there while it is False.
func saysUnreachable(obj map[string]any) bool {
	status := fields.Map(obj, "status")
	list := fields.List(status, "conditions")
	for _, c := range list {
		if m, _ := c.(map[string]any); m["type"] == v1alpha1.ConditionObjectReachable {
			return true
		}
	}
	return false
}
