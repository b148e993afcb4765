package summary

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// ending is a placed Pod or claim that is being deleted, or anything with a finalizer of
// placement.ClusterFinalizers. It is on no target any more as far as decisions go, and stays in the space
// until its targets report that it has gone there.
type ending struct {
	uid, apiVersion string
	targets         []string
	protected       bool // it has finalizers that only a cluster's own controllers take off
}

// lingers reports whether objects of a kind stay in the space until they have gone at their targets.
func lingers(k store.Key) bool { return k.Group == "" && (k.Resource == "pods" || isClaim(k)) }

// endingPause is how often endings are looked at that no report has woken: their target may have
// been removed.
const endingPause = 10 * time.Second

// observeEndingLocked takes over whether a write is of a placed Pod or claim that is being deleted.
func (s *Summary) observeEndingLocked(w store.Write) {
	meta := fields.Map(w.Object, "metadata")
	_, protected := withoutClusters(w.Key, fields.List(meta, "finalizers"))
	on := fields.String(fields.Map(meta, "annotations"), v1alpha1.AnnotationTargets)
	waits := lingers(w.Key) && graceOf(meta) != 0 && on != ""
	if fields.String(meta, "deletionTimestamp") == "" || !waits && !protected {
		delete(s.ending, w.Key)
		return
	}
	e := ending{uid: fields.String(meta, "uid"), apiVersion: w.APIVersion, protected: protected}
	if on != "" {
		e.targets = strings.Split(on, ",")
	}
	s.ending[w.Key] = e
	s.queue.Add(w.Key)
}

// graceOf returns the grace period of an object's deletion in seconds, 0 where it says none.
func graceOf(meta map[string]any) float64 {
	switch n := meta["deletionGracePeriodSeconds"].(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

// end takes what is ending out of the space when none of its targets has it any more. Until then a Pod
// shows what the first of them reports. It reports false for what is not ending.
func (s *Summary) end(ctx context.Context, k store.Key) (bool, error) {
	s.mu.Lock()
	e, ok := s.ending[k]
	s.mu.Unlock()
	if !ok {
		return false, nil
	}
	for _, t := range e.targets {
		r, told, err := s.report(t, k)
		if err != nil {
			return true, err
		}
		switch there := told && r.Object == nil && r.OriginUID == e.uid; {
		case there && k.Resource != "pods":
			return true, nil // it shows what it was
		case there:
			at := placement.Located{Key: k, APIVersion: "v1", Kind: "Pod", UID: e.uid}
			return true, s.writeStatus(ctx, at, "status", r.Status, nil)
		}
		if _, out := s.cfg.Outages.Outage(t); out {
			return true, nil // it may have the Pod
		}
	}
	if e.protected {
		if err := s.unprotect(ctx, k, e); err != nil {
			return true, err
		}
	}
	if !lingers(k) {
		return true, nil
	}
	err := s.cfg.API.Delete(ctx, k, "v1", e.uid)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return true, fmt.Errorf("end %s: %w", k, err)
	}
	return true, nil
}

// queueEndings has all endings looked at again.
func (s *Summary) queueEndings() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.ending {
		s.queue.Add(k)
	}
}
