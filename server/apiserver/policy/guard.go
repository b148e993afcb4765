package policy

import (
	"context"
	"net"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
)

const whyNoService = "a space runs no pods, so nothing answers behind a Service; serve the webhook where the center reaches it and give clientConfig.url"

// WhyNotURL tells why a webhook's URL cannot be used, "" when it can: at the name that a cluster gives to its own API upstream's client would show the
// credentials of the pod that the center runs in, so that a space could act as the center there.
func WhyNotURL(hook string) string {
	u, err := url.Parse(hook)
	if err != nil {
		return "" // Kubernetes' own validation says so
	}
	host := u.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "kubernetes.default.svc" {
		return "the API of the cluster that the center runs in is not for spaces; serve the webhook at a name of its own"
	}
	return ""
}

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
		if c.URL != nil && WhyNotURL(*c.URL) != "" {
			wrong = append(wrong, field.Forbidden(field.NewPath("webhooks").Index(i).Child("clientConfig", "url"), WhyNotURL(*c.URL)))
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
