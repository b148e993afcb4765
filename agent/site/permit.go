package site

import (
	"context"
	"errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// ErrNoNamespace is returned until the Namespace of an object belongs to its space on the target.
var ErrNoNamespace = errors.New("its Namespace is not there for this space yet")

// Permit returns why the site does not let an object be applied, nil if it does. It makes the body of
// the object the one that is applied.
func (g *Gate) Permit(ctx context.Context, o *Object) error {
	if !g.Sealed() {
		return nil
	}
	p := g.Rules.Policy()
	if o.Key.Class() == store.ClassNamespace || o.Key.Namespace != "" {
		if err := g.Accounts.hold(ctx, o.Client); err != nil {
			return err
		}
	}
	switch o.Key.Class() {
	case store.ClassNamespace:
		return namespaceBody(o, p)
	case store.ClassCRD:
		return g.permitDefinition(ctx, o, p)
	case store.ClassOther:
	}
	if policy.IsWebhooks(o.Key.Group, o.Key.Resource) {
		return g.mirror(o, p)
	}
	if err := p.Kind(o.Key.Group, o.Key.Resource, g.Definitions().defined(o.Key)); err != nil {
		return err
	}
	if o.Key.Namespace == "" && policy.IsRights(o.Key.Group) {
		return g.permitRights(ctx, o, p)
	}
	if o.Key.Namespace == "" {
		return p.Object(o.Key.Space, "", o.kind(), o.Body, g.hasAccount(o.Key))
	}
	if _, there := g.Inventory.Prefix(o.Key.Space, o.Key.Namespace); !there {
		if why := g.Denials.get(inventory.NamespaceKey(o.Key.Space, o.Key.Namespace)); why != nil {
			return why
		}
		return ErrNoNamespace
	}
	if policy.IsRights(o.Key.Group) {
		return g.permitRights(ctx, o, p)
	}
	if err := g.Mirrors.await(o.Key); err != nil {
		return err
	}
	if err := p.Object(o.Key.Space, o.At.Namespace, o.kind(), o.Body, g.hasAccount(o.Key)); err != nil {
		return err
	}
	for _, allows := range []func(context.Context, *Object, *policy.Policy) error{
		projectsOwnToken, mountsInline, g.lacksClass, g.Hosts.alias, g.Hosts.expose,
	} {
		if err := allows(ctx, o, p); err != nil {
			return err
		}
	}
	return nil
}

// Allows returns why the site does not let the space of a key have a body, of a kind as people name
// it, in a namespace of the target.
func (g *Gate) Allows(k store.Key, namespace, kind string, body []byte) error {
	if !g.Sealed() {
		return nil
	}
	return g.Rules.Policy().Object(k.Space, namespace, kind, body, g.hasAccount(k))
}

// hasAccount tells whether the space has a ServiceAccount here, in the namespace of an object.
func (g *Gate) hasAccount(k store.Key) func(name string) bool {
	return func(name string) bool {
		r, known := g.Inventory.Get(
			store.Key{Space: k.Space, Resource: "serviceaccounts", Namespace: k.Namespace, Name: name},
		)
		return known && r.UID != ""
	}
}
