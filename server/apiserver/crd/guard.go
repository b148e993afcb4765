package crd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// Guard is the admission plugin that refuses CustomResourceDefinitions of reserved groups, those
// with a conversion webhook that Outbound does not allow. It warns of annotations
// that mean nothing.
type Guard struct{ Outbound *outbound.Rules }

// Handles implements admission.Interface.
func (Guard) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (g Guard) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	crd, ok := a.GetObject().(*apiextensions.CustomResourceDefinition)
	if !ok || request.Space(ctx) == request.OwnSpace {
		return nil
	}
	own := v1alpha1.GroupVersion.Group
	if crd.Spec.Group == own || strings.HasSuffix(crd.Spec.Group, "."+own) {
		return admission.NewForbidden(
			a,
			errors.New("spec.group: "+own+" belongs to the center, which serves its kinds in every space; "+
				"choose another group"),
		)
	}
	if inventory.Defines(crd.Name) {
		return admission.NewForbidden(a, fmt.Errorf("metadata.name: every space has %s already, and the center "+
			"writes its objects: leave the definition out", crd.Name))
	}
	old, _ := a.GetOldObject().(*apiextensions.CustomResourceDefinition)
	if err := checkGroup(crd, old); err != nil {
		return admission.NewForbidden(a, err)
	}
	if word, said := crd.Annotations[v1alpha1.AnnotationPlacement]; said && word != v1alpha1.PlacementNone {
		warning.AddWarning(ctx, "", fmt.Sprintf("metadata.annotations[%s]: %.40q means nothing: write %s, "+
			"which keeps the definition and its objects in the space, or leave it out",
			v1alpha1.AnnotationPlacement, word, v1alpha1.PlacementNone))
	}
	if _, err := placement.ParseGoodConditions(crd.Annotations[v1alpha1.AnnotationConditions]); err != nil {
		warning.AddWarning(ctx, "", fmt.Sprintf("metadata.annotations[%s] means nothing: %s",
			v1alpha1.AnnotationConditions, err))
	}
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensions.WebhookConverter &&
		c.WebhookClientConfig != nil {
		const at = "spec.conversion.webhook.clientConfig."
		if hook := c.WebhookClientConfig; hook.URL != nil &&
			*hook.URL != conversionURL(a.GetOldObject()) {
			if err := g.Outbound.CheckURL(*hook.URL); err != nil {
				return admission.NewForbidden(a, fmt.Errorf("%surl: %w", at, err))
			}
		}
	}
	return nil
}

// conversionURL returns the URL of a definition's conversion webhook, "" for none.
func conversionURL(o runtime.Object) string {
	crd, ok := o.(*apiextensions.CustomResourceDefinition)
	if !ok || crd.Spec.Conversion == nil || crd.Spec.Conversion.WebhookClientConfig == nil ||
		crd.Spec.Conversion.WebhookClientConfig.URL == nil {
		return ""
	}
	return *crd.Spec.Conversion.WebhookClientConfig.URL
}
