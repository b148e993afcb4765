package admission

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// Constraints refuses Placements whose selectors and constraints cannot be understood, cost too much or
// contradict each other, with the field and what to write instead. Rules that need one field alone
// stand in the definition. What is wrong in the stored object already keeps nobody from changing the
// rest.
type Constraints struct{}

var _ admission.ValidationInterface = Constraints{}

// Handles implements admission.Interface.
func (Constraints) Handles(o admission.Operation) bool {
	return o == admission.Create || o == admission.Update
}

// Validate implements admission.ValidationInterface.
func (Constraints) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	kind := v1alpha1.GroupVersion.WithKind("Placement")
	if a.GetKind() != kind || a.GetSubresource() != "" {
		return nil
	}
	now, ok := typed[v1alpha1.Placement](a.GetObject())
	if !ok {
		return nil // the definition says what is wrong
	}
	wrong := placement.Validate(now.Spec)
	if before, ok := typed[v1alpha1.Placement](a.GetOldObject()); ok && len(wrong) > 0 {
		was := placement.Validate(before.Spec)
		wrong = slices.DeleteFunc(wrong, func(e *field.Error) bool {
			return slices.ContainsFunc(was, func(old *field.Error) bool { return old.Error() == e.Error() })
		})
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(kind.GroupKind(), a.GetName(), wrong)
	}
	return nil
}
