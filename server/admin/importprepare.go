package admin

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// maxIdentity is how much of an object's annotations, which have a limit together, who manages its
// fields may take.
const maxIdentity = 64 << 10

// hasStatus leaves out what this center itself makes the status of.
func (i *importer) hasStatus(gvr schema.GroupVersionResource) bool {
	switch {
	case gvr.Group == "apiextensions.k8s.io", gvr.Group == v1alpha1.GroupVersion.Group, gvr == namespaces:
		return false
	}
	k, known := i.kinds[gvr]
	return k.status || !known // a kind that this import defines
}

// prepare makes a new object of one that was.
func (i *importer) prepare(gvr schema.GroupVersionResource, o *unstructured.Unstructured) error {
	id := identity(o)
	for _, field := range []string{
		"uid",
		"creationTimestamp",
		"generation",
		"managedFields",
		"resourceVersion",
		"deletionTimestamp",
		"deletionGracePeriodSeconds",
	} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	switch {
	case gvr.Group == "batch" && gvr.Resource == "jobs":
		forgetJobSelector(o)
	case gvr.Group == "" && gvr.Resource == "persistentvolumeclaims":
		forgetVolume(o)
	}
	if !i.UIDs {
		return nil
	}
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if len(text) > maxIdentity {
		id.ManagedFields = nil
		if text, err = json.Marshal(id); err != nil {
			return err
		}
	}
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[v1alpha1.AnnotationImport] = string(text)
	o.SetAnnotations(notes)
	return nil
}

// forgetJobSelector takes off what Kubernetes made of the Job's own UID, and makes anew.
func forgetJobSelector(o *unstructured.Unstructured) {
	if manual, _, _ := unstructured.NestedBool(o.Object, "spec", "manualSelector"); manual {
		return
	}
	unstructured.RemoveNestedField(o.Object, "spec", "selector")
	for _, name := range []string{
		"controller-uid",
		"job-name",
		"batch.kubernetes.io/controller-uid",
		"batch.kubernetes.io/job-name",
	} {
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "labels", name)
	}
}

// forgetVolume takes off a claim that it is bound: the volume stays where it is. A volume that the
// user has named is named further on.
func forgetVolume(o *unstructured.Unstructured) {
	for _, name := range []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", name)
	}
}
