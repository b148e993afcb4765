package summary

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// withoutClusters returns the finalizers of an object without those of its target's cluster, and whether
// it has any of them.
func withoutClusters(k store.Key, finalizers []any) (rest []string, some bool) {
	theirs := placement.ClusterFinalizers(k)
	for _, f := range finalizers {
		name, _ := f.(string)
		if slices.Contains(theirs, name) {
			some = true
			continue
		}
		rest = append(rest, name)
	}
	return rest, some
}

// unprotect takes the finalizers of a cluster off an object that is being deleted and that no target has.
func (s *Summary) unprotect(ctx context.Context, k store.Key, e ending) error {
	obj, err := s.cfg.API.Get(ctx, k, e.apiVersion)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s to take off finalizers: %w", k, err)
	}
	meta := fields.Map(obj, "metadata")
	rest, some := withoutClusters(k, fields.List(meta, "finalizers"))
	if !some || fields.String(meta, "uid") != e.uid {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": e.uid,
		"resourceVersion": meta["resourceVersion"], "finalizers": rest}})
	if err != nil {
		return fmt.Errorf("encode finalizers: %w", err)
	}
	_, err = s.cfg.API.Patch(ctx, k, e.apiVersion, "", patch)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // its next write comes here again
		return fmt.Errorf("take finalizers off %s: %w", k, err)
	}
	return nil
}
