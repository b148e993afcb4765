package sessions

import (
	"slices"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

func offering(versions, resources []string, properties map[string]string) *v1alpha1.SyncTargetStatus {
	return &v1alpha1.SyncTargetStatus{Properties: properties,
		APIs: &v1alpha1.ServedAPIs{Versions: versions, Resources: resources}}
}

// A relay offers what any of its sites serves, and the properties that all of them have.
func TestWhatIsOfferedBelowARelay(t *testing.T) {
	b := newSubtreeStatus()
	srv := &Server{subtree: b}
	told := func(name string, status *v1alpha1.SyncTargetStatus) bool {
		before := b.changed
		b.observe(name, status)
		return before != b.changed
	}
	want := func(versions, resources []string, properties map[string]string) {
		t.Helper()
		is := srv.SubtreeOffer()
		if !is.Equal(&tunnel.ClusterOffer{Versions: versions, Resources: resources, Properties: properties}) {
			t.Errorf("it offers %+v", is)
		}
	}
	if told("silent", &v1alpha1.SyncTargetStatus{}); srv.SubtreeOffer() != nil {
		t.Error("something is offered by nobody")
	}
	told("a", offering([]string{"apps/v1", "v1"}, nil, map[string]string{"zone": "north", "tier": "gold"}))
	want([]string{"apps/v1", "v1"}, nil, map[string]string{"zone": "north", "tier": "gold"})
	gpu := []string{"example.com/v1/gpus"}
	if !told("b", offering([]string{"example.com/v1", "v1"}, gpu, map[string]string{"zone": "south", "tier": "gold"})) {
		t.Error("a new offer is not told")
	}
	want([]string{"apps/v1", "example.com/v1", "v1"}, gpu, map[string]string{"tier": "gold"})
	if told("c", offering([]string{"example.com/v1", "v1"}, gpu, map[string]string{"tier": "gold"})) {
		t.Error("it is told again")
	}
	told("b", &v1alpha1.SyncTargetStatus{})
	want([]string{"apps/v1", "example.com/v1", "v1"}, gpu, map[string]string{"tier": "gold"})
	told("c", &v1alpha1.SyncTargetStatus{})
	want([]string{"apps/v1", "v1"}, nil, map[string]string{"zone": "north", "tier": "gold"})
	told("a", offering([]string{"v1"}, nil, nil))
	want([]string{"v1"}, nil, nil)
	if len(b.offer.served) != 1 || len(b.offer.values) != 0 || !slices.Equal(srv.SubtreeOffer().Versions, []string{"v1"}) {
		t.Errorf("kept: %v %v", b.offer.served, b.offer.values)
	}
}
