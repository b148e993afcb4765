package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// waiting is deleting that also names what holds a Namespace: the objects in it that are being
// deleted, and the finalizers that they wait for. The Namespace itself tells only how many there
// are.
func (a *Applier) waiting(ctx context.Context, c *target.Client, at store.Key, live *target.Object) error {
	err := deleting(live)
	var awaited *deletingError
	if at.Class() != store.ClassNamespace || !errors.As(err, &awaited) {
		return err
	}
	names, failed := holders(ctx, c, at.Name)
	if failed != nil {
		a.Log.Debug("what holds a namespace is not known", "namespace", at.Name, "err", failed)
	}
	if len(names) > 0 {
		awaited.detail = " (held by " + strings.Join(names, ", ") + ")"
		if len(awaited.finalizers) == 0 {
			awaited.finalizers = []string{"kubernetes"}
		}
	}
	return awaited
}

// enoughHolders bounds how many objects are looked for that hold a Namespace.
const enoughHolders = 4

// holders returns the first objects in a namespace that are being deleted and wait for finalizers,
// with those.
func holders(ctx context.Context, c *target.Client, namespace string) (names []string, err error) {
	resources, err := c.NamespacedResources(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for what holds namespace %s: %w", namespace, err)
	}
	for _, r := range resources {
		_, err := c.List(
			ctx,
			target.Listing{Resource: r, Namespace: namespace, MetadataOnly: true},
			func(o *target.Object) error {
				if o.Metadata.DeletionTimestamp == "" || len(o.Metadata.Finalizers) == 0 {
					return nil
				}
				names = append(names, r.Plural+"/"+o.Metadata.Name+": "+strings.Join(o.Metadata.Finalizers, ", "))
				if len(names) >= enoughHolders {
					return target.ErrEnough
				}
				return nil
			},
		)
		switch {
		case errors.Is(err, target.ErrEnough):
			return names, nil
		case err != nil && !errors.Is(err, target.ErrNotServed):
			return names, fmt.Errorf("look for what holds namespace %s: %w", namespace, err)
		}
	}
	return names, nil
}
