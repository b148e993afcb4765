package admission

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// TestPassedOn: which writes of a mirrored object are its site's to carry out.
func TestPassedOn(t *testing.T) {
	mirror := &api.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{v1alpha1.AnnotationReportedFrom: "paris"}}}
	for name, c := range map[string]struct {
		group, resource, subresource string
		op                           admission.Operation
		old                          *api.Pod
		want                         bool
	}{
		"deletion":              {"", "pods", "", admission.Delete, mirror, true},
		"change":                {"", "pods", "", admission.Update, mirror, true},
		"change of a placed":    {"", "pods", "", admission.Update, &api.Pod{}, false},
		"deletion of a placed":  {"", "pods", "", admission.Delete, &api.Pod{}, false},
		"creation":              {"", "pods", "", admission.Create, nil, false},
		"status":                {"", "pods", "status", admission.Update, mirror, true},
		"resize":                {"", "pods", "resize", admission.Update, mirror, false},
		"debugging":             {"", "pods", "ephemeralcontainers", admission.Update, mirror, true},
		"of a claim":            {"", "persistentvolumeclaims", "", admission.Delete, mirror, true},
		"status of a claim":     {"", "persistentvolumeclaims", "status", admission.Update, mirror, false},
		"of a Job":              {"batch", "jobs", "", admission.Delete, mirror, true},
		"of a ReplicaSet":       {"apps", "replicasets", "", admission.Delete, mirror, true},
		"scale of a ReplicaSet": {"apps", "replicasets", "scale", admission.Update, mirror, false},
		"of a history":          {"apps", "controllerrevisions", "", admission.Delete, mirror, false},
		"of a Job elsewhere":    {"example.com", "jobs", "", admission.Delete, mirror, false},
	} {
		resource := schema.GroupVersionResource{Group: c.group, Version: "v1", Resource: c.resource}
		old, obj := c.old, mirror
		a := admission.NewAttributesRecord(obj, nil, api.Kind("Pod").WithVersion("v1"), "web", "app-1",
			resource, c.subresource, c.op, nil, false, nil)
		if old != nil {
			a = admission.NewAttributesRecord(obj, old, api.Kind("Pod").WithVersion("v1"), "web", "app-1",
				resource, c.subresource, c.op, nil, false, nil)
		}
		if got := passedOn(t.Context(), a); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
