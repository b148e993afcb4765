package fleet

import "testing"

// TestWhatStaysMovesNowhere: no target fits, and what is there stays.
func TestWhatStaysMovesNowhere(t *testing.T) {
	m := Move{Object: "shop/web", From: []string{"pa"}, Phase: "Staying"}
	if is := (Clock{}).move(m); is != "shop/web stays on pa: no target fits" {
		t.Error(is)
	}
	m.WaitsFor = "1 targets fit but are unschedulable: uncordon one"
	if is := (Clock{}).move(m); is != "shop/web stays on pa: "+m.WaitsFor {
		t.Error(is)
	}
}
