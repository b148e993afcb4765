package admission

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/scheduling"

	"skerry.dev/skerry/server/apiserver/request"
)

// TestOnePriorityClassIsTheDefault: a second one is refused, however it becomes the default.
func TestOnePriorityClassIsTheDefault(t *testing.T) {
	class := func(name string, isDefault bool) *scheduling.PriorityClass {
		return &scheduling.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1, GlobalDefault: isDefault}
	}
	first := scheduling.PriorityClassList{Items: []scheduling.PriorityClass{*class("other", false), *class("first", true)}}
	none := scheduling.PriorityClassList{Items: []scheduling.PriorityClass{*class("first", false)}}
	for name, of := range map[string]struct {
		stored   scheduling.PriorityClassList
		old, now *scheduling.PriorityClass
		refused  bool
	}{
		"a second":                  {first, nil, class("second", true), true},
		"a second by an update":     {first, class("other", false), class("other", true), true},
		"the first":                 {none, nil, class("second", true), false},
		"the first by an update":    {none, class("first", false), class("first", true), false},
		"the first itself":          {first, class("first", true), class("first", true), false},
		"a second that is none":     {first, nil, class("second", false), false},
		"one that is one no more":   {first, class("first", true), class("first", false), false},
		"a second of before":        {first, class("second", true), class("second", true), false},
		"the first, made once more": {first, nil, class("first", true), false}, // it exists already
	} {
		c := &ClusterDefaults{Priorities: &lagging{stored: &of.stored, cached: &scheduling.PriorityClassList{}}}
		op, old := admission.Create, runtime.Object(nil)
		if of.old != nil {
			op, old = admission.Update, of.old
		}
		a := admission.NewAttributesRecord(of.now, old, schema.GroupVersionKind{}, "", of.now.Name,
			schema.GroupVersionResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}, "", op, nil, false, nil)
		err := c.Validate(t.Context(), a, nil)
		if apierrors.IsForbidden(err) != of.refused || !of.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if of.refused && !strings.Contains(err.Error(), "PriorityClass first is already marked as default") {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Validate(request.AsCenter(t.Context()), a, nil); err != nil {
			t.Errorf("%s, by the center: %v", name, err)
		}
	}
}
