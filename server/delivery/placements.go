package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// recordPlacement writes the decision and what it means into the status, in one write.
func (d *Delivery) recordPlacement(ctx context.Context, p *plan, step placement.Step) error {
	status := maps.Clone(p.status)
	if status == nil {
		status = map[string]any{}
	}
	decision := make([]any, 0, len(step.Decision))
	for _, t := range step.Decision {
		decision = append(decision, t)
	}
	if status["decision"] = any(decision); len(decision) == 0 {
		delete(status, "decision")
	}
	status["observedGeneration"] = p.generation
	if _, shown := status["rollout"]; shown && !p.releases {
		hideRollout(status)
	}
	conflict := placement.Condition{
		Type:    v1alpha1.ConditionConflict,
		Status:  p.conflict != "",
		Reason:  "None",
		Message: p.conflict,
	}
	if conflict.Status {
		conflict.Reason = "SamePriority"
	}
	list, now := catalog.ReadConditions(map[string]any{"status": status}), time.Now()
	for _, c := range append(outcome(p, step), conflict) {
		keepReason(&c, list)
		list, _ = list.With(c, p.generation, now)
	}
	status["conditions"] = []any(list)
	if err := d.writeStatus(ctx, p.key, p.version, p.status, status); err != nil {
		return err
	}
	d.ToldPlacement(p.key, "")
	return nil
}

// writeStatus replaces a Placement's status when it differs.
func (d *Delivery) writeStatus(ctx context.Context, k store.Key, version string, was, status map[string]any) error {
	if equal(was, status) {
		return nil
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": mergePatch(was, status)},
	)
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	// gofail: var beforePlacementDecision struct{}
	if _, err := d.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", patch); err != nil {
		return unlessGone(fmt.Errorf("write status of %s: %w", k, err))
	}
	return nil
}

// mergePatch makes one object of another: a merge patch takes out what is null.
func mergePatch(was, now map[string]any) map[string]any {
	out := maps.Clone(now)
	for field, v := range was {
		old, wasMap := v.(map[string]any)
		next, isMap := now[field].(map[string]any)
		if _, ok := now[field]; !ok {
			out[field] = nil
		} else if wasMap && isMap {
			out[field] = mergePatch(old, next)
		}
	}
	return out
}

// equal compares as JSON, so that 1 and 1.0 are the same.
func equal(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
