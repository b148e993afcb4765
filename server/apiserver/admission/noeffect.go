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
	var content map[string]any
	if k.Group == "" && k.Resource == "secrets" {
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
