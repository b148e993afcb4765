package admission

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Collectors refuses StatusCollectors whose expressions do not compile or may cost too much, with the
// field and what to write instead. A spec that is not changed is left.
type Collectors struct {
	// Check returns what is wrong with a spec; nil accepts all.
	Check func(v1alpha1.StatusCollectorSpec) *field.Error
}

var _ admission.ValidationInterface = Collectors{}

// Handles implements admission.Interface.
func (Collectors) Handles(o admission.Operation) bool {
	return o == admission.Create || o == admission.Update
}

// Validate implements admission.ValidationInterface.
func (c Collectors) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	kind := v1alpha1.GroupVersion.WithKind("StatusCollector")
	if a.GetKind() != kind || a.GetSubresource() != "" || c.Check == nil {
		return nil
	}
	now, ok := typed[v1alpha1.StatusCollector](a.GetObject())
	if !ok {
		return nil // the definition says what is wrong
	}
	if before, ok := typed[v1alpha1.StatusCollector](a.GetOldObject()); ok && reflect.DeepEqual(before.Spec, now.Spec) {
		return nil
	}
	if wrong := c.Check(now.Spec); wrong != nil {
		return apierrors.NewInvalid(kind.GroupKind(), a.GetName(), field.ErrorList{wrong})
	}
	return nil
}
