package kinds

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// What the center notes on a Deployment is no new generation of it; what a user writes is.
func TestMarksDoNotRaiseTheGeneration(t *testing.T) {
	of := func(annotations map[string]string) *apps.Deployment {
		return &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3, Annotations: annotations}}
	}
	for name, c := range map[string]struct {
		old, now map[string]string
		want     int64
	}{
		"the first marks": {nil, map[string]string{v1alpha1.AnnotationTargets: "a", v1alpha1.AnnotationUnit: "N"}, 3},
		"it moves": {map[string]string{v1alpha1.AnnotationTargets: "a", "mine": "x"},
			map[string]string{v1alpha1.AnnotationTargets: "a,b", "mine": "x"}, 3},
		"a mark goes": {map[string]string{v1alpha1.AnnotationTargets: "a"}, nil, 3},
		"a user's": {map[string]string{v1alpha1.AnnotationTargets: "a", "mine": "x"},
			map[string]string{v1alpha1.AnnotationTargets: "a", "mine": "y"}, 4},
		"both": {map[string]string{v1alpha1.AnnotationTargets: "a"},
			map[string]string{v1alpha1.AnnotationTargets: "b", "mine": "y"}, 4},
	} {
		old, now := of(c.old), of(c.now)
		quietMarks{deployment.Strategy}.PrepareForUpdate(t.Context(), now, old)
		if now.Generation != c.want {
			t.Errorf("%s: generation %d, want %d", name, now.Generation, c.want)
		}
		if got := now.Annotations[v1alpha1.AnnotationTargets]; got != c.now[v1alpha1.AnnotationTargets] {
			t.Errorf("%s: the targets became %q", name, got)
		}
	}
}
