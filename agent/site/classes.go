package site

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// lacksClass refuses an object that names a missing class: its space brings the class, the site
// refuses it, and the cluster has none. No Pod would start, and only a controller's Event would say
// why.
func (g *Gate) lacksClass(ctx context.Context, o *Object, p *policy.Policy) error {
	if err := lacksDefaultClass(ctx, o, p); err != nil {
		return err
	}
	for _, class := range policy.Classes(o.kind(), o.Body) {
		refused := p.Kind(class.Group, class.Resource, false)
		if refused == nil {
			continue
		}
		k := store.Key{Space: o.Key.Space, Group: class.Group, Resource: class.Resource, Name: class.Name}
		if e, ok, err := g.Desired.Get(k); err != nil || !ok || e.Tombstone {
			continue // the cluster's, or nobody's: then the cluster says so
		}
		r := target.Resource{Group: class.Group, Version: class.Version, Plural: class.Resource}
		found, err := target.Find(ctx, o.Client, r, k, true)
		if err != nil && !isNotServed(err) {
			return err
		}
		if found == nil {
			return &policy.Refusal{
				Reason: policy.ReasonKind,
				Message: fmt.Sprintf("it names %s %q, which the space brings and the site refuses: %s",
					class.Resource, class.Name, refused),
			}
		}
	}
	return nil
}

// lacksDefaultClass refuses a claim without a class at a cluster that has no default one. A cluster
// that serves no StorageClasses has no volumes, either.
func lacksDefaultClass(ctx context.Context, o *Object, p *policy.Policy) error {
	if !p.NeedsDefaultClass(o.kind(), o.Body) {
		return nil
	}
	found, err := o.Client.HasDefaultStorageClass(ctx)
	switch {
	case isNotServed(err), err == nil && found:
		return nil
	case apierrors.IsForbidden(err):
		return policy.NoDefaultClass(true)
	case err != nil:
		return fmt.Errorf("look for a default StorageClass: %w", err)
	}
	return policy.NoDefaultClass(false)
}
