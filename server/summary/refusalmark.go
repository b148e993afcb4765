package summary

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// refusalMark is the annotation skerry.dev/refused that an object has, with what is needed to take it off again. Kinds without conditions
// (ConfigMaps, Secrets, ServiceAccounts), and custom resources whose status is not the targets' to say, have it instead: people find it there, and a relay's
// agent takes it up to the parent.
type refusalMark struct{ text, apiVersion, uid string }

// observeMark takes over an object's mark. The caller holds the lock.
func (s *Summary) observeMark(w store.Write) {
	if takesConditions(w.Key) && placement.BuiltIn(w.Key.Group) {
		return
	}
	meta, _ := w.Object["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	m := refusalMark{apiVersion: w.APIVersion}
	m.text, _ = notes[v1alpha1.AnnotationRefused].(string)
	m.uid, _ = meta["uid"].(string)
	if m.text == "" {
		delete(s.marked, w.Key)
		return
	}
	if _, known := s.marked[w.Key]; !known {
		s.queue.Add(w.Key)
	}
	s.marked[w.Key] = m
}

// markRefused writes what the mark should say, nothing when there is nothing to say, if it does not say so already.
func (s *Summary) markRefused(ctx context.Context, k store.Key, want string) error {
	s.mu.Lock()
	m := s.marked[k]
	s.mu.Unlock()
	if m.text == want {
		return nil
	}
	if at, ok := s.cfg.Located(k); ok {
		m.apiVersion, m.uid = at.APIVersion, at.UID
	}
	var value any
	if want != "" {
		value = want
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.uid, "annotations": map[string]any{v1alpha1.AnnotationRefused: value}}})
	if err != nil {
		return fmt.Errorf("encode mark of %s: %w", k, err)
	}
	if _, err := s.cfg.API.Patch(ctx, k, m.apiVersion, "", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("mark %s as refused: %w", k, err)
	}
	return nil
}
