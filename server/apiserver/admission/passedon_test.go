package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// TestPassedOn: which writes of a mirrored Pod are its site's to carry out.
func TestPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		resource, subresource string
		op                    admission.Operation
		verb                  string
		want                  bool
	}{
		"deletion":            {"pods", "", admission.Delete, "delete", true},
		"deletion of many":    {"pods", "", admission.Delete, "deletecollection", false},
		"change":              {"pods", "", admission.Update, "update", false},
		"status":              {"pods", "status", admission.Update, "update", false},
		"debugging":           {"pods", "ephemeralcontainers", admission.Update, "patch", true},
		"eviction":            {"pods", "eviction", admission.Create, "create", true},
		"of a ReplicaSet":     {"replicasets", "", admission.Delete, "delete", false},
		"scale of ReplicaSet": {"replicasets", "scale", admission.Update, "update", false},
	} {
		ctx := apirequest.WithRequestInfo(t.Context(), &apirequest.RequestInfo{Verb: c.verb})
		a := admission.NewAttributesRecord(
			nil,
			nil,
			api.Kind("Pod").WithVersion("v1"),
			"web",
			"app-1",
			api.Resource(c.resource).WithVersion("v1"),
			c.subresource,
			c.op,
			nil,
			false,
			nil,
		)
		if got := passedOn(ctx, a); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
