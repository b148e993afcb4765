package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/apps"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// TestWordsWithoutEffectAreWarnedOf: what placement.NoEffect says of labels and annotations reaches whoever writes
// them, on every kind.
func TestWordsWithoutEffectAreWarnedOf(t *testing.T) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, c := range []struct {
		of   schema.GroupVersionResource
		obj  runtime.Object
		want string
	}{
		{namespaces, &api.Namespace{ObjectMeta: noted("web", v1alpha1.AnnotationReach, "space")}, "write Space"},
		{namespaces, &api.Namespace{ObjectMeta: noted("web", v1alpha1.AnnotationReach, "Space")}, ""},
		{namespaces, &api.Namespace{ObjectMeta: noted("web", v1alpha1.AnnotationVolumes, "Muve")}, "write Move"},
		{namespaces, &api.Namespace{ObjectMeta: noted("web", v1alpha1.LabelTarget, "paris")}, "kubectl label"},
		{deployments, &apps.Deployment{ObjectMeta: noted("x", v1alpha1.LabelTarget, "paris")}, "kubectl label"},
		{deployments, &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x",
			Labels: map[string]string{v1alpha1.LabelInert: "true"}}}, "means nothing on deployments.apps"},
		{deployments, &apps.Deployment{ObjectMeta: noted("x", "example.com/a", "b")}, ""},
	} {
		said := &warned{}
		ctx := warning.WithWarningRecorder(request.WithSpace(t.Context(), "shop"), said)
		a := admission.NewAttributesRecord(c.obj, nil, c.of.GroupVersion().WithKind(""), "web", "x", c.of, "",
			admission.Create, nil, false, nil)
		if err := (NoEffect{}).Validate(ctx, a, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(*said, " "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: warned %q, want %q", c.of.Resource, got, c.want)
		}
	}
}

func noted(name, annotation, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation: value}}
}
