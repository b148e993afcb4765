package summary

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// autoscaled is the replicas that an autoscaler at a target has given a workload, and the generation
// of the workload that the target had then.
type autoscaled struct{ replicas, generation int64 }

// scale gives a workload the replicas that an autoscaler of its space has given it at its only target:
// in a cluster the autoscaler writes them there itself. A target that has not got the present version
// yet says nothing: the author may have stopped the workload since. Neither does one that names more
// than the autoscaler of the space allows.
func (s *Summary) scale(ctx context.Context, at placement.Located, reports []*store.Report) error {
	if len(reports) != 1 || reports[0] == nil || at.Divided {
		return nil
	}
	r := reports[0]
	if r.Filled == nil || r.Filled.Replicas <= 0 || r.Generation != at.Generation {
		return nil
	}
	now := autoscaled{r.Filled.Replicas, r.Generation}
	s.mu.Lock()
	known := s.autoscaled[at.Key] == now
	s.mu.Unlock()
	if known {
		return nil
	}
	obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s before it is scaled: %w", at.Key, err)
	}
	meta := fields.Map(obj, "metadata")
	if meta["uid"] != at.UID || customize.Number(meta["generation"]) != r.Generation {
		return nil
	}
	// Which field of a custom resource has them, only its scale subresource knows.
	if !tunnel.BuiltInGroup(at.Key.Group) || customize.Number(fields.Map(obj, "spec")["replicas"]) != now.replicas {
		if ok, err := s.mayScale(ctx, at, r.Filled); err != nil || !ok {
			return err
		}
		_, err := s.cfg.API.Patch(ctx, at.Key, at.APIVersion, "scale", encode([]any{
			map[string]any{"op": "test", "path": "/metadata/uid", "value": at.UID},
			map[string]any{"op": "add", "path": "/metadata/resourceVersion", "value": meta["resourceVersion"]},
			map[string]any{"op": "add", "path": "/spec/replicas", "value": now.replicas},
		}))
		if err != nil {
			return ignoreNotFound(fmt.Errorf("scale %s: %w", at.Key, err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.autoscaled[at.Key] = now
	return nil
}

// mayScale reports whether the space has an autoscaler that may give a workload the replicas that a
// target reports.
func (s *Summary) mayScale(ctx context.Context, at placement.Located, f *store.Filled) (bool, error) {
	k := store.Key{Space: at.Key.Space, Group: "autoscaling", Resource: "horizontalpodautoscalers",
		Namespace: at.Key.Namespace, Name: f.Autoscaler}
	obj, err := s.cfg.API.Get(ctx, k, "autoscaling/v2")
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the autoscaler of %s: %w", at.Key, err)
	}
	spec := fields.Map(obj, "spec")
	of := fields.Map(spec, "scaleTargetRef")
	return of["kind"] == at.Kind && of["name"] == at.Key.Name &&
		f.Replicas <= customize.Number(spec["maxReplicas"]), nil
}
