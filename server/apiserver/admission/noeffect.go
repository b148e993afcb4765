package admission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// NoEffect is the admission plugin that warns a user of what is accepted and does nothing. delivery
// tells the same as an Event for those who do not read warnings.
type NoEffect struct{}

// Handles implements admission.Interface.
func (NoEffect) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (NoEffect) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj := metadata.Of(a.GetObject())
	if obj == nil || request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	k := placedKey(ctx, a, obj)
	content := map[string]any{"metadata": map[string]any{
		"labels": untyped(obj.GetLabels()), "annotations": untyped(obj.GetAnnotations())}}
	if placement.NoEffectOfContent(k) {
		as, err := versioned(a, a.GetObject())
		if err != nil {
			return err
		}
		content = as
	}
	if _, message := placement.NoEffect(k, content); message != "" {
		warning.AddWarning(ctx, "", message)
	}
	return nil
}

// untyped is a map of texts as it is in an object without a type.
func untyped(of map[string]string) map[string]any {
	out := make(map[string]any, len(of))
	for name, value := range of {
		out[name] = value
	}
	return out
}
