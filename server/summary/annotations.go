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

// annotations are the values of AnnotationRefused, AnnotationUnreachable and AnnotationAltered. Objects without
// conditions of the center have them instead: ConfigMaps, Secrets, ServiceAccounts, and custom
// resources whose status is the targets' alone. People read them, and a relay's agent reports a
// refusal to the parent.
type annotations struct{ refused, unreachable, altered string }

// annotated is an object that has such annotations, and what a patch of them needs.
type annotated struct {
	annotations
	apiVersion, uid string
}

// observeAnnotationsLocked records the annotations that an object has. s.mu must be held.
func (s *Summary) observeAnnotationsLocked(w store.Write) {
	if takesConditions(w.Key) && placement.BuiltIn(w.Key.Group) {
		return
	}
	meta := fields.Map(w.Object, "metadata")
	notes := fields.Map(meta, "annotations")
	m := annotated{apiVersion: w.APIVersion}
	m.refused = fields.String(notes, v1alpha1.AnnotationRefused)
	m.unreachable = fields.String(notes, v1alpha1.AnnotationUnreachable)
	m.altered = fields.String(notes, v1alpha1.AnnotationAltered)
	m.uid = fields.String(meta, "uid")
	if m.annotations == (annotations{}) {
		delete(s.annotated, w.Key)
		return
	}
	if _, known := s.annotated[w.Key]; !known {
		s.queue.Add(w.Key)
	}
	s.annotated[w.Key] = m
}

// annotate writes the annotations that an object should have, unless it has them already.
func (s *Summary) annotate(ctx context.Context, k store.Key, want annotations) error {
	s.mu.Lock()
	m := s.annotated[k]
	s.mu.Unlock()
	if m.annotations == want {
		return nil
	}
	if at, ok := s.cfg.Delivery.Located(k); ok {
		m.apiVersion, m.uid = at.APIVersion, at.UID
	}
	notes := map[string]any{}
	for name, value := range map[string]string{v1alpha1.AnnotationRefused: want.refused,
		v1alpha1.AnnotationUnreachable: want.unreachable, v1alpha1.AnnotationAltered: want.altered} {
		if notes[name] = nil; value != "" {
			notes[name] = value
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.uid, "annotations": notes}})
	if err != nil {
		return fmt.Errorf("encode annotations of %s: %w", k, err)
	}
	if _, err := s.cfg.API.Patch(ctx, k, m.apiVersion, "", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotate %s: %w", k, err)
	}
	return nil
}

// saysUnreachable reports whether an object has the condition skerry.dev/Reachable. It has it only
// while that is False.
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
