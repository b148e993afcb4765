package server_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDefinitionKeepsWhatAppliesIt: the server of a space writes the status and the finalizers of
// definitions from trimmed copies, and what these lack stays stored.
func TestDefinitionKeepsWhatAppliesIt(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.createSpace("one", "Retain")
	d := dyn(t, c.admin("one")).Resource(crdsGVR)
	ctx := t.Context()
	def, _ := gadgets("kept.example.com")
	def.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: `{"kind":"x"}`, "mine": "yes"})
	_, err := d.Create(ctx, def, metav1.CreateOptions{FieldManager: "kubectl"})
	must(t, err)
	kept := func(when, applied string) *unstructured.Unstructured {
		t.Helper()
		is, err := d.Get(ctx, def.GetName(), metav1.GetOptions{})
		must(t, err)
		if n := is.GetAnnotations(); n[corev1.LastAppliedConfigAnnotation] != applied || n["mine"] != "yes" {
			t.Errorf("%s the annotations are %v", when, n)
		}
		if m := is.GetManagedFields(); len(m) == 0 || m[0].Manager != "kubectl" {
			t.Errorf("%s the managers are %v", when, m)
		}
		return is
	}
	within(t, time.Minute, "Established", func() bool { return established(t, dyn(t, c.admin("one")), def.GetName()) })
	is := kept("established,", `{"kind":"x"}`)
	// Another name of the kind makes the server write the status once more.
	notes := is.GetAnnotations()
	notes[corev1.LastAppliedConfigAnnotation] = `{"kind":"y"}`
	is.SetAnnotations(notes)
	must(t, unstructured.SetNestedStringSlice(is.Object, []string{"gg"}, "spec", "names", "shortNames"))
	is.SetFinalizers(append(is.GetFinalizers(), "example.com/wait"))
	_, err = d.Update(ctx, is, metav1.UpdateOptions{FieldManager: "kubectl"})
	must(t, err)
	within(t, time.Minute, "the new name", func() bool {
		is, err := d.Get(ctx, def.GetName(), metav1.GetOptions{})
		must(t, err)
		short, _, _ := unstructured.NestedStringSlice(is.Object, "status", "acceptedNames", "shortNames")
		return len(short) == 1
	})
	kept("named anew,", `{"kind":"y"}`)
	must(t, d.Delete(ctx, def.GetName(), metav1.DeleteOptions{}))
	within(t, time.Minute, "its objects are gone", func() bool {
		is, err = d.Get(ctx, def.GetName(), metav1.GetOptions{})
		must(t, err)
		return len(is.GetFinalizers()) == 1
	})
	kept("being deleted,", `{"kind":"y"}`)
	is.SetFinalizers(nil)
	_, err = d.Update(ctx, is, metav1.UpdateOptions{})
	must(t, err)
	within(t, time.Minute, "deletion", func() bool {
		_, err := d.Get(ctx, def.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
