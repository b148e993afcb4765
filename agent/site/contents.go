package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// ForeignContentsError is returned when a Namespace or a CustomResourceDefinition cannot go because
// it holds objects that are not ours.
type ForeignContentsError struct{ Names []string }

// Error names up to three of them.
func (l *ForeignContentsError) Error() string {
	text := strings.Join(l.Names[:min(3, len(l.Names))], ", ")
	if len(l.Names) > 3 {
		text += " and others"
	}
	return "kept on the target, because it holds objects that were not delivered from here: " + text +
		"; remove them, and it goes too"
}

// ErrOwnLeft is returned while objects that we delivered are still in it.
var ErrOwnLeft = errors.New("objects that were delivered into it are still being removed")

// enoughLeft bounds how many foreign objects are looked for.
const enoughLeft = 4

// Contents returns an error while a container, a key in the names of the target, must stay: nothing
// of anybody else is deleted with it.
func (g *Gate) Contents(ctx context.Context, c *target.Client, at store.Key) error {
	switch at.Class() {
	case store.ClassNamespace:
		if g.Inventory.Any(func(other store.Key, r inventory.Record) bool {
			return other.Namespace != "" && target.Mapping(r.Prefix).There(other.Namespace) == at.Name &&
				g.SameView(at, other)
		}) {
			return ErrOwnLeft
		}
		return foreignInNamespace(ctx, c, at)
	case store.ClassCRD:
		plural, group, _ := strings.Cut(at.Name, ".")
		ours := func(other store.Key, _ inventory.Record) bool {
			return other.Resource == plural && other.Group == group && g.SameView(at, other)
		}
		if g.Inventory.Any(ours) {
			return ErrOwnLeft
		}
		return ForeignOfKind(ctx, c, group, plural, func(*target.Object) bool { return false })
	case store.ClassOther:
	}
	return nil
}

// SameView reports whether two keys are of accounts that read the same.
func (g *Gate) SameView(one, other store.Key) bool {
	if one.Space == other.Space {
		return true
	}
	x, err := g.Clients.For(one.Space)
	if err != nil {
		return false
	}
	y, err := g.Clients.For(other.Space)
	return err == nil && x == y
}

// kindsAtOnce is how many kinds are listed at the same time: each list may wait 100 ms for the
// server's cache.
const kindsAtOnce = 16

// foreignInNamespace looks for objects that neither we nor the target's own controllers made.
func foreignInNamespace(ctx context.Context, c *target.Client, at store.Key) error {
	namespace := at.Name
	served, err := c.Served(ctx)
	if err != nil {
		return fmt.Errorf("look for leftovers in namespace %s: %w", namespace, err)
	}
	left, of := &ForeignContentsError{}, ofCluster(served)
	var mu sync.Mutex // held for left
	lists, listing := errgroup.WithContext(ctx)
	lists.SetLimit(kindsAtOnce)
	for i := range served {
		r := served[i].Resource
		if !served[i].Namespaced || ownedByTarget(r) {
			continue
		}
		lists.Go(func() error {
			_, err := c.List(
				listing,
				target.Listing{Resource: r, Namespace: namespace, MetadataOnly: true},
				func(o *target.Object) error {
					if made(r, o, of) || o.Metadata.Annotations[target.AnnotationOrphanOf] == at.Space {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					left.Names = append(left.Names, r.Plural+"/"+o.Metadata.Name)
					return left.enough()
				},
			)
			if err != nil && !errors.Is(err, target.ErrNotServed) {
				return fmt.Errorf("look for leftover %s in namespace %s: %w", r, namespace, err)
			}
			return nil
		})
	}
	if err := lists.Wait(); err != nil && !errors.Is(err, target.ErrEnough) {
		return err
	}
	slices.Sort(left.Names)
	return left.orNil()
}

// ForeignOfKind looks for custom resources that are not ours, in all namespaces. It returns a *ForeignContentsError.
func ForeignOfKind(
	ctx context.Context, c *target.Client, group, plural string, ours func(*target.Object) bool,
) error {
	versions, err := c.Versions(ctx, group)
	if errors.Is(err, target.ErrNotServed) || err == nil && len(versions) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for leftover %s: %w", plural, err)
	}
	left := &ForeignContentsError{}
	listing := target.Listing{
		Resource:     target.Resource{Group: group, Version: versions[0], Plural: plural},
		MetadataOnly: true,
	}
	_, err = c.List(ctx, listing, func(o *target.Object) error {
		if ours(o) {
			return nil
		}
		left.Names = append(left.Names, withSpace(o))
		return left.enough()
	})
	if err != nil && !errors.Is(err, target.ErrEnough) && !errors.Is(err, target.ErrNotServed) {
		return fmt.Errorf("look for leftover %s: %w", plural, err)
	}
	return left.orNil()
}

// withSpace names an object, and the space that it came from.
func withSpace(o *target.Object) string {
	name := strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
	if space := o.OriginSpace(); space != "" {
		name += " (of space " + space + ")"
	}
	return name
}

func (l *ForeignContentsError) enough() error {
	if len(l.Names) >= enoughLeft {
		return target.ErrEnough
	}
	return nil
}

func (l *ForeignContentsError) orNil() error {
	if len(l.Names) == 0 {
		return nil
	}
	return l
}

// ownedByTarget reports whether objects of a resource come and go with others.
func ownedByTarget(r target.Resource) bool {
	return slices.Contains(
		[]string{"events", "endpoints", "endpointslices", "leases", "controllerrevisions"},
		r.Plural,
	) ||
		r.Group == "metrics.k8s.io"
}

// ofCluster are the kinds of objects that are in no namespace, as owners name them, by group.
func ofCluster(served []target.Served) map[[2]string]bool {
	out := map[[2]string]bool{}
	for i := range served {
		if !served[i].Namespaced {
			out[[2]string{served[i].Group, served[i].Kind}] = true
		}
	}
	return out
}

// ownedInside reports whether an owner of the object is in its namespace, where it is looked at
// itself. An operator of the site may own a whole namespace by an object of the cluster.
func ownedInside(o *target.Object, ofCluster map[[2]string]bool) bool {
	return slices.ContainsFunc(o.Metadata.OwnerReferences, func(owner target.Owner) bool {
		group, _, found := strings.Cut(owner.APIVersion, "/")
		if !found {
			group = ""
		}
		return !ofCluster[[2]string{group, owner.Kind}]
	})
}

// made reports whether the target itself made the object: it has an owner in its namespace, or every
// namespace has one. ofCluster are the kinds of owners that are in none.
func made(r target.Resource, o *target.Object, ofCluster map[[2]string]bool) bool {
	switch {
	case ownedInside(o, ofCluster), target.IsSpaceAccess(r, o), target.IsGatewayObject(o):
		return true
	case r.Group == "" && r.Plural == "serviceaccounts":
		return o.Metadata.Name == "default"
	case r.Group == "" && r.Plural == "configmaps":
		return o.Metadata.Name == "kube-root-ca.crt"
	case r.Group == "" && r.Plural == "services":
		return o.Metadata.Namespace == "default" && o.Metadata.Name == "kubernetes"
	default:
		return false
	}
}
