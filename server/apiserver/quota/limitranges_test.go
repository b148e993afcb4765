package quota

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
)

// lagging is a storage whose cache has not seen yet what is stored.
type lagging struct {
	rest.Lister
	stored runtime.Object
}

func (l lagging) List(_ context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		return &api.LimitRangeList{}, nil
	}
	return l.stored, nil
}

// A LimitRange counts from the moment at which its creation was answered, whatever the cache has
// seen.
func TestANewLimitRangeCountsAtOnce(t *testing.T) {
	cpu := resource.MustParse("250m")
	l := &LimitRanges{Ranges: lagging{stored: &api.LimitRangeList{Items: []api.LimitRange{{
		Spec: api.LimitRangeSpec{Limits: []api.LimitRangeItem{{
			Type: api.LimitTypeContainer, DefaultRequest: api.ResourceList{api.ResourceCPU: cpu},
		}}},
	}}}}}
	pod := &api.Pod{Spec: api.PodSpec{Containers: []api.Container{{Name: "app"}}}}
	a := admission.NewAttributesRecord(pod, nil, schema.GroupVersionKind{Kind: "Pod"}, "app", "x",
		schema.GroupVersionResource{Resource: "pods"}, "", admission.Create, nil, false, &user.DefaultInfo{Name: "alice"})
	if err := l.Admit(request.WithSpace(t.Context(), "shop"), a, nil); err != nil {
		t.Fatal(err)
	}
	if is := pod.Spec.Containers[0].Resources.Requests[api.ResourceCPU]; is.Cmp(cpu) != 0 {
		t.Errorf("a Pod asks for %s of cpu", is.String())
	}
}
