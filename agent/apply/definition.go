package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// permitDefinition returns why a CustomResourceDefinition is not applied.
func (a *Applier) permitDefinition(ctx context.Context, t *task, p *policy.Policy) error {
	_, group, _ := strings.Cut(t.Key.Name, ".")
	annotations := t.head.Metadata.Annotations
	if err := errors.Join(p.Kind(t.Key.Group, t.Key.Resource, false), p.Conversion(t.Body)); err != nil {
		return err
	}
	if err := p.Definition(group, annotations, false); err != nil || p.Definition(group, annotations, true) == nil {
		return err // whoever serves the group
	}
	versions, err := t.client.Versions(ctx, group)
	if err != nil && !isNotServed(err) {
		return err
	}
	return p.Definition(group, annotations, len(versions) > 0 && !a.definesGroup(group))
}

// definesGroup reports whether the target serves a group by definitions that came from spaces.
func (a *Applier) definesGroup(group string) bool {
	return a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		return k.Class() == store.ClassCRD && strings.HasSuffix(k.Name, "."+group) && r.Created
	})
}

// defined reports whether the definition of a kind came from a space.
func (a *Applier) defined(k store.Key) bool {
	if k.Group == "" {
		return false
	}
	name := policy.KindName(k.Group, k.Resource)
	own := store.Key{Space: k.Space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: name}
	if r, known := a.Inventory.Get(own); known && r.Created && r.UID != "" {
		return true
	}
	return a.Inventory.Any(func(other store.Key, r inventory.Record) bool {
		return other.Name == name && other.Class() == store.ClassCRD && r.Created && r.UID != ""
	})
}

// adoptDefinition decides about a definition that exists and was not applied for this space. An
// equal one of another space is shared. One of the site is used where the site allows its objects.
func (a *Applier) adoptDefinition(ctx context.Context, t *task, found *target.Object, whole map[string]any) error {
	if space := found.OriginSpace(); space != "" {
		would, err := t.client.Would(ctx, t.resource, "", t.Key.Name, t.Body, found.Metadata.UID)
		if err != nil {
			return fmt.Errorf("compare with the definition that is there: %w", err)
		}
		if !reflect.DeepEqual(would["spec"], whole["spec"]) {
			return &policy.Refusal{
				Reason: policy.ReasonDefinition,
				Message: fmt.Sprintf("space %q and space %q have different definitions named %s, and the site "+
					"can have one; make them equal, or place one of the spaces elsewhere", t.Key.Space, space, t.Key.Name),
			}
		}
		return a.written(ctx, t, found, false)
	}
	plural, group, _ := strings.Cut(t.Key.Name, ".")
	if err := a.Site.Policy().Kind(group, plural, false); err != nil {
		return &policy.Refusal{
			Reason:  policy.ReasonDefinition,
			Message: "the site has a definition of this name of its own; " + err.Error(),
		}
	}
	return a.written(ctx, t, found, false)
}

// heir returns the key of another space that shares a definition with this one.
func (a *Applier) heir(k store.Key, uid string) (store.Key, bool) {
	var heir store.Key
	found := k.Class() == store.ClassCRD && uid != "" &&
		a.Inventory.Any(func(other store.Key, r inventory.Record) bool {
			heir = other
			return other.Name == k.Name && other.Space != k.Space && other.Class() == store.ClassCRD && r.UID == uid &&
				!r.Created
		})
	return heir, found
}

// bequeath lets a definition go on as that of another space, which applies its own, equal one over
// it.
func (a *Applier) bequeath(heir store.Key) {
	a.Inventory.Update(heir, func(r inventory.Record) (inventory.Record, bool) {
		r.Created, r.Applied = true, store.Hash{}
		return r, true
	})
	a.queue.add(heir, false)
}

// checkDefinition checks that a definition that is not applied for this space is still there, and
// still equal.
func (a *Applier) checkDefinition(ctx context.Context, t *task) error {
	found, whole, err := t.read(ctx)
	switch {
	case err != nil:
		return err
	case found == nil, found.Metadata.UID != t.record.UID:
		return a.lose(t, errors.New("the definition is gone from the target, or is another one"))
	}
	if err := a.adoptDefinition(ctx, t, found, whole); err != nil {
		var refused *policy.Refusal
		if errors.As(err, &refused) {
			a.Inventory.Delete(t.Key)
		}
		return err
	}
	return nil
}

// sharers queues the spaces that share a definition that was written.
func (a *Applier) sharers(k store.Key) {
	var others []store.Key
	a.Inventory.Any(func(other store.Key, r inventory.Record) bool {
		if other.Name == k.Name && other.Space != k.Space && other.Class() == store.ClassCRD && !r.Created {
			others = append(others, other)
		}
		return false
	})
	a.Rewound(others)
}

func isNotThere(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
