package summary

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// autoscaled is the replicas that an autoscaler has given a workload, and the generation of the workload
// that its targets had then.
type autoscaled struct {
	replicas, generation int64
	at                   time.Time
}

// scale gives a workload the replicas that an autoscaler of its space has given it at its only target:
// in a cluster the autoscaler writes them there itself. Where they are divided it has the sum of all targets. Where
// each target has all it has those of the worst one, whose counts are its status.
func (s *Summary) scale(ctx context.Context, at placement.Located, reports []*store.Report) error {
	f := scaledTo(at, reports)
	if f == nil {
		return nil
	}
	s.mu.Lock()
	last := s.autoscaled[at.Key]
	s.mu.Unlock()
	if last.replicas == f.Replicas && last.generation == at.Generation {
		return nil
	}
	if rest := scalePause(len(reports)) - time.Since(last.at); rest > 0 && !last.at.IsZero() {
		s.queue.AddAfter(at.Key, rest)
		return nil
	}
	now := autoscaled{f.Replicas, at.Generation, time.Now()}
	obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s before it is scaled: %w", at.Key, err)
	}
	meta := fields.Map(obj, "metadata")
	if meta["uid"] != at.UID || customize.Number(meta["generation"]) != at.Generation {
		return nil
	}
	// Which field of a custom resource has them, only its scale subresource knows.
	if !tunnel.BuiltInGroup(at.Key.Group) || customize.Number(fields.Map(obj, "spec")["replicas"]) != now.replicas {
		if ok, err := s.mayScale(ctx, at, f); err != nil || !ok {
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

// scaledTo returns what autoscalers have given a workload, nil where nobody knows. A target that has not got the
// present version yet says nothing: the author may have stopped the workload since. Of a target without an
// autoscaler, as one whose weight is 0, what runs there counts.
func scaledTo(at placement.Located, reports []*store.Report) *store.Filled {
	if len(reports) > 1 && !at.Divided {
		return scaledAtWorst(at, reports)
	}
	var out store.Filled
	for _, r := range reports {
		switch {
		case r == nil || r.Generation != at.Generation || r.Filled != nil && r.Filled.Replicas > math.MaxInt32:
			return nil
		case r.Filled != nil && r.Filled.Replicas > 0:
			out.Replicas += r.Filled.Replicas
			out.Autoscaler = cmp.Or(out.Autoscaler, r.Filled.Autoscaler)
		default:
			var status struct{ Replicas int64 }
			if len(r.Status) > 0 && json.Unmarshal(r.Status, &status) != nil {
				return nil
			}
			out.Replicas += min(max(0, status.Replicas), math.MaxInt32)
		}
	}
	if out.Autoscaler == "" {
		return nil
	}
	return &out
}

// scaledAtWorst returns what an autoscaler has given a workload at the target whose counts are shown. It is nil
// unless each target has an autoscaler: one without has the replicas that are written here.
func scaledAtWorst(at placement.Located, reports []*store.Report) *store.Filled {
	var out *store.Filled
	var worst map[string]any
	for _, r := range reports {
		if r == nil || r.Generation != at.Generation || r.Filled == nil || r.Filled.Autoscaler == "" ||
			r.Filled.Replicas <= 0 || r.Filled.Replicas > math.MaxInt32 {
			return nil
		}
		status := map[string]any{}
		if len(r.Status) > 0 && json.Unmarshal(r.Status, &status) != nil {
			return nil
		}
		status = pickCounts(at.Key, status)
		if out == nil || !maps.EqualFunc(status, worst, sameNumber) && worseCounts(at.Key, status, worst) {
			out, worst = r.Filled, status
		}
	}
	return out
}

// scalePause is how long a workload keeps the replicas that it was given. What is given is sent to each of its
// targets, so that one of many whose load changes all the time would cost all others.
func scalePause(targets int) time.Duration {
	if targets < 2 {
		return 0
	}
	return time.Duration(targets) * 2 * time.Second
}

// mayScale reports whether the space has an autoscaler that may give a workload the replicas that its
// targets report. Where they are divided, each target may have one.
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
		f.Replicas <= max(customize.Number(spec["maxReplicas"]), int64(len(at.Targets))), nil
}
