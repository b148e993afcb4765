package policy

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/webhook"
)

// Config is what a Plugin needs from the API server.
type Config struct {
	// Namespace reads a namespace in the space of the context.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Authorizer answers in the space of the context.
	Authorizer authorizer.Authorizer
	// Outbound says at which addresses webhooks may be called.
	Outbound *outbound.Rules
	// Webhooks calls them.
	Webhooks *webhook.Callers
	// Loopback returns a client configuration for a space, with the rights of the center.
	Loopback func(space string) *rest.Config
}

// Plugin is the admission plugin. Users' writes wait until Replace has been called for each of
// Resources. They are refused if their context ends before that.
type Plugin struct {
	cfg        Config
	index      *index
	converters *converters
}

// New returns a plugin without objects.
func New(c Config) *Plugin {
	return &Plugin{cfg: c, index: newIndex(), converters: newConverters(c.Loopback)}
}

// spaceOf returns the space whose rules apply to a request. It returns "" for requests of the center
// and for the definitions of its own kinds.
func spaceOf(ctx context.Context) string {
	if space := request.Space(ctx); !request.FromCenter(ctx) && space != request.OwnSpace {
		return space
	}
	return ""
}

// Handles implements admission.Interface.
func (*Plugin) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface. Rules that ask to be reinvoked after the changes of
// others are evaluated once more.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	b, err := p.rules(ctx, a)
	if b == nil || err != nil {
		return err
	}
	if err := p.admit(ctx, b, a, o); err != nil {
		return err
	}
	if again := a.GetReinvocationContext(); again.ShouldReinvoke() {
		again.SetIsReinvoke()
		return p.admit(ctx, b, a, o)
	}
	return nil
}

func (p *Plugin) admit(ctx context.Context, b *built, a admission.Attributes, o admission.ObjectInterfaces) error {
	if len(b.mutating) > 0 && a.GetOperation() != admission.Delete && isAsked(a) {
		d := mutating.NewDispatcher(p.authorizer(ctx), p.matcher(ctx), p.converters.in(ctx, b.space))
		if err := d.Dispatch(ctx, a, o, withParams(ctx, b, b.mutating)); err != nil {
			return err
		}
	}
	if b.hooks == nil || !b.hooks.mutating.Handles(a.GetOperation()) {
		return nil
	}
	return b.hooks.mutating.Admit(asked(ctx, a), a, o)
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := p.guard(ctx, a); err != nil {
		return err
	}
	b, err := p.rules(ctx, a)
	if b == nil || err != nil {
		return err
	}
	if len(b.validating) > 0 && isAsked(a) {
		d := validating.NewDispatcher(p.authorizer(ctx), generic.NewPolicyMatcher(p.matcher(ctx)))
		if err := d.Dispatch(ctx, a, o, withParams(ctx, b, b.validating)); err != nil {
			return err
		}
	}
	if b.hooks == nil || !b.hooks.validating.Handles(a.GetOperation()) {
		return nil
	}
	return b.hooks.validating.Validate(asked(ctx, a), a, o)
}

// rules returns the compiled rules that apply to a request, nil for none.
func (p *Plugin) rules(ctx context.Context, a admission.Attributes) (*built, error) {
	space := spaceOf(ctx)
	if space == "" || administers(a) {
		return nil, nil
	}
	of, err := p.index.of(ctx, space)
	if err != nil {
		return nil, admission.NewForbidden(a, err)
	}
	if of == nil {
		return nil, nil
	}
	b, err := p.build(space, of)
	if err != nil {
		return nil, admission.NewForbidden(a, fmt.Errorf("prepare the admission policies of space %s: %w", space, err))
	}
	return b, nil
}

// notAsked are resources that policies do not apply to, as in Kubernetes: policies and bindings, so
// that a wrong one can be repaired, and reviews, which are not stored.
var notAsked = map[schema.GroupResource]bool{
	{Group: "admissionregistration.k8s.io", Resource: ValidatingPolicies}:  true,
	{Group: "admissionregistration.k8s.io", Resource: ValidatingBindings}:  true,
	{Group: "admissionregistration.k8s.io", Resource: MutatingPolicies}:    true,
	{Group: "admissionregistration.k8s.io", Resource: MutatingBindings}:    true,
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       true,
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   true,
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      true,
}

// administers reports whether an admin of the center gives or takes rights in a space. The rules of the
// space are not asked about that: its users must not keep the rights that are taken from them.
func administers(a admission.Attributes) bool {
	who := a.GetUserInfo()
	if who == nil || !slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return false
	}
	switch r := a.GetResource().GroupResource(); r.Resource {
	case "rolebindings", "clusterrolebindings", "roles", "clusterroles":
		return r.Group == rbacv1.GroupName
	case "serviceaccounts", "namespaces":
		return r.Group == "" && a.GetNamespace() == v1alpha1.UsersNamespace
	}
	return false
}

func isAsked(a admission.Attributes) bool { return !notAsked[a.GetResource().GroupResource()] }

// authorizer authorizes in the space of the request, because CEL asks with a context of its own.
func (p *Plugin) authorizer(request context.Context) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(
		func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			return p.cfg.Authorizer.Authorize(request, a)
		},
	)
}

func (p *Plugin) matcher(ctx context.Context) *matching.Matcher {
	n := namespaces{ctx: ctx, get: p.cfg.Namespace}
	return matching.NewMatcher(n, n.client())
}
