package apiserver

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// crdGuard refuses CustomResourceDefinitions that a space cannot honour.
type crdGuard struct{}

// Handles implements admission.Interface.
func (crdGuard) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (crdGuard) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	crd, ok := a.GetObject().(*apiextensions.CustomResourceDefinition)
	if !ok || spaceOf(ctx) == ownSpace {
		return nil
	}
	own := v1alpha1.GroupVersion.Group
	if crd.Spec.Group == own || strings.HasSuffix(crd.Spec.Group, "."+own) {
		return admission.NewForbidden(a, errors.New("spec.group: "+own+" belongs to the center, which serves its kinds in every space"))
	}
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensions.WebhookConverter {
		return admission.NewForbidden(a, errors.New("spec.conversion.strategy: Webhook cannot work here, since a space runs no pods; use None"))
	}
	return nil
}
