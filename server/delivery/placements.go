package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// countDelay is how long reports are gathered before a Placement's counts are taken again.
const countDelay = 500 * time.Millisecond

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
	if status["move"] = moveField(step.Move); step.Move == nil {
		delete(status, "move")
	}
	status["observedGeneration"] = p.generation
	conflict := placement.Condition{
		Type:    v1alpha1.ConditionConflict,
		Status:  p.conflict != "",
		Reason:  "None",
		Message: p.conflict,
	}
	if conflict.Status {
		conflict.Reason = "SamePriority"
	}
	list, now := readConditions(map[string]any{"status": status}), time.Now()
	for _, c := range append(outcome(p, step), conflict) {
		list, _ = list.with(c, p.generation, now)
	}
	status["conditions"] = []any(list)
	if err := d.writeStatus(ctx, p.key, p.version, p.status, status); err != nil {
		return err
	}
	d.status.AddAfter(p.key, countDelay)
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

// tally is how far one Placement is carried out.
type tally struct {
	selected, synced, available, failed int
	behind, refused, waiting            []string // targets, for the message
}

// count takes the counts of a Placement or a Location again and writes them.
func (d *Delivery) count(ctx context.Context, k store.Key) error {
	if k.Resource == "locations" {
		return d.countLocation(ctx, k)
	}
	d.mu.RLock()
	g := d.group(ref{ofPlacement, k})
	if g == nil {
		d.mu.RUnlock()
		return nil
	}
	b := g.book
	p := &plan{
		ref:        g.ref(),
		group:      g,
		key:        k,
		generation: b.generation,
		version:    fmt.Sprint(b.revision),
		status:     b.status,
	}
	targets := g.record.list()
	d.inquire(p, g.record)
	d.mu.RUnlock()

	status := maps.Clone(p.status)
	if status == nil {
		return nil // the decision comes first
	}
	t := d.tally(targets, p.asked)
	status["targets"] = map[string]any{
		"selected":  t.selected,
		"synced":    t.synced,
		"available": t.available,
		"failed":    t.failed,
	}
	list, now := readConditions(map[string]any{"status": status}), time.Now()
	for _, c := range t.conditions() {
		list, _ = list.with(c, p.generation, now)
	}
	status["conditions"] = []any(list)
	return d.writeStatus(ctx, k, p.version, p.status, status)
}

func (d *Delivery) tally(targets []string, asked []question) tally {
	t := tally{selected: len(targets)}
	for _, name := range targets {
		synced, available, refused := true, true, false
		for _, q := range asked {
			p, ok := d.cfg.Progress(name, q.key)
			switch {
			case !ok || p.UID != q.demand.UID:
				synced, available = false, false
			case p.Refused != nil:
				synced, available, refused = false, false, true
			default:
				synced = synced && p.Applied == q.demand.Hash
				available = available && p.Arrived(q.demand) == ""
			}
		}
		switch {
		case refused:
			t.failed++
			t.refused = append(t.refused, name)
		case !synced:
			t.behind = append(t.behind, name)
		}
		if synced {
			t.synced++
		}
		if available {
			t.available++
		} else {
			t.waiting = append(t.waiting, name)
		}
	}
	return t
}

func (t tally) conditions() []placement.Condition {
	synced := placement.Condition{
		Type:   v1alpha1.ConditionSynced,
		Status: t.synced == t.selected && t.selected > 0,
		Reason: "AllSynced",
	}
	switch {
	case t.selected == 0:
		synced.Reason = "NoTargets"
	case t.failed > 0:
		synced.Reason, synced.Message = "Refused", "refused on "+some(t.refused)
	case !synced.Status:
		synced.Reason, synced.Message = "Behind", "not yet applied on "+some(t.behind)
	}
	available := placement.Condition{
		Type:   v1alpha1.ConditionAvailable,
		Status: t.available == t.selected && t.selected > 0,
		Reason: "AllAvailable",
	}
	switch {
	case t.selected == 0:
		available.Reason = "NoTargets"
	case !available.Status:
		available.Reason, available.Message = "NotAvailable", "not available on "+some(t.waiting)
	}
	return []placement.Condition{synced, available}
}

// some names at most 20 targets.
func some(list []string) string {
	const most = 20
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}
