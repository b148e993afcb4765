package delivery

import (
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// hold has releases held on a target, by its admin or by the site itself.
func (f *fleet) hold(target string, annotation, condition any) {
	m := meta(target)
	m["labels"] = map[string]any{"ring": "rest", "all": "yes"}
	if annotation != nil {
		m["annotations"] = map[string]any{v1alpha1.AnnotationHoldReleases: annotation}
	}
	conditions := []any{map[string]any{"type": "Connected", "status": "True"}}
	if condition != nil {
		conditions = append(conditions, map[string]any{"type": v1alpha1.ConditionTakesReleases, "status": "False",
			"reason": condition})
	}
	f.put(rootKey("synctargets", target), obj("skerry.dev/v1alpha1", "SyncTarget", m, "status", map[string]any{
		"conditions": conditions}))
}

// A target that is held by its admin, or by the site itself, keeps its release while others get the newest,
// also over a restart, and has that when it is let go.
func TestAHeldTargetKeepsItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.hold("b", "harvest", nil)
		f.hold("c", nil, v1alpha1.ReasonHeldAtSite)
		for _, image := range []string{"2", "3"} {
			f.apply(image)
			f.gets("a", image)
			f.well("a", nil)
			f.phase("Complete")
		}
		f.keeps("1", "b", "c")
		f.restartQuick()
		f.keeps("1", "b", "c")
		f.hold("b", nil, nil)
		f.gets("b", "3")
		f.keeps("1", "c")
		f.hold("c", nil, v1alpha1.ReasonHeldByAdmin) // as it was said of an annotation that is gone
		f.gets("c", "3")
	})
}
