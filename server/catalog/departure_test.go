package catalog

import (
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

func TestTaintsCountFromWhenTheyAreSeen(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	o := map[string]any{"spec": map[string]any{"taints": []any{
		map[string]any{"key": "power", "effect": "NoExecute"}, map[string]any{"key": "gpu", "effect": "NoSchedule"}}}}
	first := readDeparture(o, placement.Departure{}, now)
	again := readDeparture(o, first, now.Add(time.Hour))
	if len(again.Taints) != 2 || !again.Taints[0].TimeAdded.Time.Equal(now) || again.Taints[1].TimeAdded != nil ||
		!again.Same(first) {
		t.Errorf("taints: %+v", again.Taints)
	}
}

// A target that was lost several times gets nothing new.
func TestAnUnstableTargetGetsNothingNew(t *testing.T) {
	o := map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": v1alpha1.ConditionStable, "status": "False"}}}}
	if d := readDeparture(o, placement.Departure{}, time.Now()); (placement.Target{Departure: d}).Takes() {
		t.Errorf("it takes something: %+v", d)
	}
}
