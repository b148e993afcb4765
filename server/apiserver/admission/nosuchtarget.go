package admission

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// NoSuchTarget is the admission plugin that warns of a label or a Placement with the name of a target that
// its space does not have. It is no error: the target may come later.
type NoSuchTarget struct {
	// Unknown says which of some names a space has no target by, empty for none. Nil says nothing.
	Unknown func(space string, names []string) string
}

// Handles implements admission.Interface.
func (NoSuchTarget) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (p NoSuchTarget) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj := metadata.Of(a.GetObject())
	if p.Unknown == nil || obj == nil || request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	names := namedTargets(a, a.GetObject())
	if len(names) == 0 || slices.Equal(names, namedTargets(a, a.GetOldObject())) {
		return nil
	}
	if text := p.Unknown(request.Space(ctx), names); text != "" {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// namedTargets are the targets that an object wishes by name. The object may be nil.
func namedTargets(a admission.Attributes, obj runtime.Object) (names []string) {
	if is := metadata.Of(obj); is != nil && is.GetLabels()[v1alpha1.LabelTarget] != "" {
		names = append(names, is.GetLabels()[v1alpha1.LabelTarget])
	}
	of, ok := obj.(*unstructured.Unstructured)
	placements := v1alpha1.GroupVersion.WithResource("placements").GroupResource()
	if ok && of != nil && a.GetResource().GroupResource() == placements {
		listed, _, _ := unstructured.NestedStringSlice(of.Object, "spec", "targets", "names")
		names = append(names, listed...)
	}
	return names
}
