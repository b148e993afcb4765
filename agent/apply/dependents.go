package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// dependentKinds are the kinds whose objects the target's controllers make for a workload.
func dependentKinds() []target.Resource {
	return []target.Resource{
		{Version: "v1", Plural: "pods"},
		{Group: "apps", Version: "v1", Plural: "replicasets"},
		{Group: "batch", Version: "v1", Plural: "jobs"},
	}
}

// staying marks what stays on the target when its owner goes.
type staying struct {
	accounts  *site.Accounts
	inventory *inventory.Inventory
	log       *slog.Logger
}

// markDependents marks what an object owns, because the object goes and its dependents stay. The
// target's garbage collector takes off their owner. Without a mark they would be taken for somebody
// else's, and would keep their Namespace on the target for ever.
func (s *staying) markDependents(ctx context.Context, c *target.Client, at store.Key, owner *target.Object) error {
	if at.Namespace == "" {
		return nil
	}
	for _, r := range dependentKinds() {
		var owned []*target.Object
		listing := target.Listing{Resource: r, Namespace: at.Namespace, MetadataOnly: true}
		_, err := c.List(ctx, listing, func(o *target.Object) error {
			if o.ControllerUID() == owner.Metadata.UID {
				owned = append(owned, o)
			}
			return nil
		})
		if err != nil && !errors.Is(err, target.ErrNotServed) {
			return fmt.Errorf("look for the %s that %s keeps: %w", r.Plural, at, err)
		}
		for _, o := range owned {
			if err := s.markDependent(ctx, c, r, at, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// markDependent marks one of them. A refusal of the target does not keep the deletion back.
func (s *staying) markDependent(
	ctx context.Context,
	c *target.Client,
	r target.Resource,
	at store.Key,
	o *target.Object,
) error {
	return s.annotateDependent(ctx, c, r, at, o, target.AnnotationOrphanOf, at.Space,
		"an object that stays without its owner is not marked; it will keep its namespace on the target")
}

// annotateDependent annotates an object that stays when its owner at the key at goes. A refusal of the
// target is logged as this and is no error.
func (s *staying) annotateDependent(
	ctx context.Context,
	c *target.Client,
	r target.Resource,
	at store.Key,
	o *target.Object,
	name, value, refused string,
) error {
	k := store.Key{Space: at.Space, Group: r.Group, Resource: r.Plural, Namespace: at.Namespace, Name: o.Metadata.Name}
	err := s.accounts.Writer(c, k).Annotate(ctx, r, o, name, value)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		s.log.Warn(refused, "key", k, "err", err)
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("mark %s, which stays without its owner: %w", k, err)
	}
	return nil
}
