package policy

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"

	"skerry.dev/skerry/server/apiserver/request"
)

// guard refuses webhooks at an address that the center does not connect to, and more than MaxObjects
// objects in a space. A webhook by Service may be created before its Pods.
func (p *Plugin) guard(ctx context.Context, a admission.Attributes) error {
	if a.GetResource().Group != admissionregistration.GroupName || a.GetSubresource() != "" ||
		!slices.Contains(Resources(), a.GetResource().Resource) {
		return nil
	}
	if space := spaceOf(ctx); a.GetOperation() == admission.Create && space != "" &&
		p.index.count(space) >= MaxObjects {
		return admission.NewForbidden(a, errTooMany())
	}
	if m, err := meta.Accessor(a.GetObject()); err == nil && request.FromCenter(ctx) && passing(m) {
		return nil // its sites decide, and do not call a url
	}
	var before []*string
	for _, c := range clientConfigs(a.GetOldObject()) {
		before = append(before, c.URL)
	}
	var wrong field.ErrorList
	for i, c := range clientConfigs(a.GetObject()) {
		at := field.NewPath("webhooks").Index(i).Child("clientConfig")
		known := slices.ContainsFunc(
			before,
			func(old *string) bool { return old != nil && c.URL != nil && *old == *c.URL },
		)
		if c.URL != nil && !known {
			if err := p.cfg.Outbound.CheckURL(*c.URL); err != nil {
				wrong = append(wrong, field.Forbidden(at.Child("url"), err.Error()))
			}
		}
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), wrong)
	}
	return nil
}

// clientConfigs returns those of a webhook configuration, and nil for any other object.
func clientConfigs(o runtime.Object) (out []admissionregistration.WebhookClientConfig) {
	switch obj := o.(type) {
	case *admissionregistration.ValidatingWebhookConfiguration:
		for _, w := range obj.Webhooks {
			out = append(out, w.ClientConfig)
		}
	case *admissionregistration.MutatingWebhookConfiguration:
		for _, w := range obj.Webhooks {
			out = append(out, w.ClientConfig)
		}
	}
	return out
}
