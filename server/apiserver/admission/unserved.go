package admission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// Unserved is the admission plugin that warns of what the center itself does not serve of an Ingress
// of its class. It is no error: the admin may grant a host later. Package ingress tells the same as an Event.
type Unserved struct {
	// Words say what of an Ingress is not served, and why; empty where all is. Nil says nothing.
	Words func(k store.Key, obj map[string]any) string
}

// Handles implements admission.Interface.
func (Unserved) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (u Unserved) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	r, obj := a.GetResource(), metadata.Of(a.GetObject())
	if u.Words == nil || obj == nil || r.Group != "networking.k8s.io" || r.Resource != "ingresses" ||
		request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	as, err := versioned(a, a.GetObject())
	if err != nil {
		return err
	}
	if words := u.Words(placedKey(ctx, a, obj), as); words != "" {
		warning.AddWarning(ctx, "", words)
	}
	return nil
}
