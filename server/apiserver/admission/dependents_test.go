package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/apps"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// Who deletes a placed workload with orphan is told where its Pods stay, and nobody else is.
func TestDependentsThatStayAreTold(t *testing.T) {
	orphan, background := metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground
	for name, c := range map[string]struct {
		group, resource, targets string
		options                  *metav1.DeleteOptions
		center                   bool
		want                     bool
	}{
		"orphan": {"apps", "deployments", "a", &metav1.DeleteOptions{PropagationPolicy: &orphan}, false, true},
		"background": {"apps", "deployments", "a",
			&metav1.DeleteOptions{PropagationPolicy: &background}, false, false},
		"nothing said":          {"apps", "deployments", "a", &metav1.DeleteOptions{}, false, false},
		"nowhere yet":           {"apps", "deployments", "", &metav1.DeleteOptions{PropagationPolicy: &orphan}, false, false},
		"by the center":         {"apps", "deployments", "a", &metav1.DeleteOptions{PropagationPolicy: &orphan}, true, false},
		"a kind without Pods":   {"", "configmaps", "a", &metav1.DeleteOptions{PropagationPolicy: &orphan}, false, false},
		"a Pod, which has none": {"", "pods", "a", &metav1.DeleteOptions{PropagationPolicy: &orphan}, false, false},
	} {
		o := &apps.Deployment{}
		if c.targets != "" {
			o.Annotations = map[string]string{v1alpha1.AnnotationTargets: c.targets}
		}
		var told warned
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), &told)
		if c.center {
			ctx = request.AsCenter(ctx)
		}
		a := admission.NewAttributesRecord(nil, o, schema.GroupVersionKind{}, "app", "web",
			schema.GroupVersionResource{Group: c.group, Resource: c.resource}, "", admission.Delete, c.options, false,
			&user.DefaultInfo{Name: "alice"})
		if err := (KeptDependents{}).Validate(ctx, a, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(told, " "), "what web owns stays at its targets"); got != c.want {
			t.Errorf("%s: warned %q", name, told)
		}
	}
}
