package admission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// GoesAlong is the admission plugin that warns of a label that parts an object from what selects or names
// it, or from what it selects or names. The condition skerry.dev/Scheduled tells the same afterwards.
type GoesAlong struct {
	// Parts says what of that an object is parted from by a label. Nil says nothing.
	Parts func(k store.Key, label string, content map[string]any) string
}

// Handles implements admission.Interface.
func (GoesAlong) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (p GoesAlong) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj := metadata.Of(a.GetObject())
	if p.Parts == nil || obj == nil || a.GetNamespace() == "" || request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	label := obj.GetLabels()[v1alpha1.LabelTarget]
	if old := metadata.Of(a.GetOldObject()); label == "" || old != nil && old.GetLabels()[v1alpha1.LabelTarget] == label {
		return nil
	}
	content, err := versioned(a, a.GetObject())
	if err != nil {
		return err
	}
	if text := p.Parts(placedKey(ctx, a, obj), label, content); text != "" {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}
