package v1alpha1

import "testing"

func FuzzReadPlacementReview(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"skerry.dev/v1alpha1","kind":"PlacementReview","spec":{"placement":"p"}}`))
	f.Add([]byte("kind: PlacementReview\nspec: {object: {resource: pods, name: x}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadPlacementReview(b)
		if err == nil && (r.Spec.Object == nil) == (r.Spec.Placement == "") {
			t.Errorf("%q is taken", b)
		}
	})
}
