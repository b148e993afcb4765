package policy

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// webhooks are upstream's plugins over a snapshot of a space's webhook configurations. They have no
// goroutines.
type webhooks struct {
	validating *validatingwebhook.Plugin
	mutating   *mutatingwebhook.Plugin
}

// passing reports whether an object came to a relay from its parent, on its way to sites. What it
// asks for is meant for there: here nothing is asked about.
func passing[T metav1.Object](o T) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationOrigin] != ""
}

// newWebhooks makes those of a space, nil where it has none.
func (p *Plugin) newWebhooks(space string, of *objects) (*webhooks, error) {
	vc, err1 := all[*v1.ValidatingWebhookConfiguration](of, ValidatingWebhooks)
	mc, err2 := all[*v1.MutatingWebhookConfiguration](of, MutatingWebhooks)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	vc, mc = slices.DeleteFunc(vc, passing), slices.DeleteFunc(mc, passing)
	if len(vc)+len(mc) == 0 {
		return nil, nil
	}
	v, err := validatingwebhook.NewValidatingAdmissionWebhook(nil)
	if err != nil {
		return nil, err
	}
	m, err := mutatingwebhook.NewMutatingWebhook(nil)
	if err != nil {
		return nil, err
	}
	ctx := request.WithSpace(context.Background(), space)
	n := namespaces{ctx: ctx, get: p.cfg.Namespace}
	from := snapshot{namespaces: n, validating: indexer(vc), mutating: indexer(mc)}
	for _, w := range []*generic.Webhook{v.Webhook, m.Webhook} {
		w.SetExternalKubeClientSet(n.client())
		w.SetExternalKubeInformerFactory(from)
		w.SetExcludedAdmissionResources(exclusion.Excluded())
		w.InspectFeatureGates(utilfeature.DefaultFeatureGate)
		w.SetUnconditionalAuthorizer(
			authorizer.AuthorizerFunc(
				func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
					return p.cfg.Authorizer.Authorize(ctx, a)
				},
			),
		)
		w.SetServiceResolver(p.cfg.Webhooks.Resolver())
		w.SetAuthenticationInfoResolverWrapper(p.cfg.Webhooks.For(space))
		if err := w.ValidateInitialization(); err != nil {
			return nil, err
		}
	}
	return &webhooks{v, m}, nil
}
