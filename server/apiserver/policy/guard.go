package policy

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
)

const whyNoService = "a space runs no pods, so nothing answers behind a Service; serve the webhook where the center reaches it and give clientConfig.url"

// guard refuses what cannot work: webhooks by Service, and more objects than can be asked about each write.
func (p *Plugin) guard(ctx context.Context, a admission.Attributes) error {
	if a.GetResource().Group != admissionregistration.GroupName || a.GetSubresource() != "" || !slices.Contains(Resources(), a.GetResource().Resource) {
		return nil
	}
	if space := p.cfg.Space(ctx); a.GetOperation() == admission.Create && space != "" && p.index.count(space) >= MaxObjects {
		return admission.NewForbidden(a, errTooMany())
	}
	var wrong field.ErrorList
	by := func(i int, c admissionregistration.WebhookClientConfig) {
		if c.Service != nil {
			wrong = append(wrong, field.Forbidden(field.NewPath("webhooks").Index(i).Child("clientConfig", "service"), whyNoService))
		}
	}
	switch obj := a.GetObject().(type) {
	case *admissionregistration.ValidatingWebhookConfiguration:
		for i, w := range obj.Webhooks {
			by(i, w.ClientConfig)
		}
	case *admissionregistration.MutatingWebhookConfiguration:
		for i, w := range obj.Webhooks {
			by(i, w.ClientConfig)
		}
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), wrong)
	}
	return nil
}
