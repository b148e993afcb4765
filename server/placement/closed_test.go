package placement

import (
	"slices"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A target without room says so, to those who decide and to those who ask why.
func TestATargetWithoutRoomSaysSo(t *testing.T) {
	objects := int64(1)
	world := World{Targets: []Target{
		{Name: "a", Connected: true}, {Name: "b", Connected: true, Objects: 1,
			Room: Room{Bounds: &v1alpha1.Bounds{Objects: &objects}}},
	}}
	wish, load := Wish{Names: []string{"a", "b"}, Count: 2}, Load{Objects: 1}
	v := Vacate(wish, world, []string{"a"}, Terms{Load: load}, time.Now())
	if v.Reason != "TooFewTargets" || !strings.Contains(v.Message, "it has no room within its bounds (objects 2 of 1)") ||
		strings.Contains(v.Message, "cordoned") {
		t.Errorf("%s: %s", v.Reason, v.Message)
	}
	_, verdicts := Explain(wish, world.Closing(wish, []string{"a"}, load), []string{"a"})
	i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Target == "b" })
	if got := verdicts[i]; got.Chosen || got.Filter != FilterUnschedulable || !strings.Contains(got.Message, "no room") {
		t.Errorf("%+v", got)
	}
	both := []string{"a", "b"}
	if _, verdicts := Explain(wish, world.Closing(wish, both, load), both); !verdicts[1].Chosen {
		t.Errorf("what is there is taken away: %+v", verdicts[1])
	}
}
