package delivery

import (
	"testing"

	"skerry.dev/skerry/server/catalog"
)

// A relay is empty until it tells of a site; a workload cluster never is.
func TestReadTargetKnowsARelayWithoutSites(t *testing.T) {
	for name, c := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"a cluster":             {map[string]any{}, false},
		"a relay that is new":   {map[string]any{"relay": true}, true},
		"a relay without sites": {map[string]any{"relay": true, "below": map[string]any{"targets": float64(0)}}, true},
		"a relay with a site":   {map[string]any{"relay": true, "below": map[string]any{"targets": float64(1)}}, false},
	} {
		if got := catalog.ReadTarget(map[string]any{"status": c.status}).Empty; got != c.want {
			t.Errorf("%s: empty is %v", name, got)
		}
	}
}
