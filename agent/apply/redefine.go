package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A definition that was deleted in its space and made anew may have another scope or another kind, which no update
// changes. While the site was cut off, the new one overtakes the deletion. Then the earlier one is deleted, with
// what it has of its spaces, as it was in the space. What anybody else has there keeps it.

// redefinedError is returned while a target has the earlier definition in the place of the one that is desired.
type redefinedError struct {
	differs string // what no update changes
	waits   error
}

// Error says what differs, and what is in the way.
func (r *redefinedError) Error() string {
	return "the definition was made anew with " + r.differs + ", so the target has to delete the earlier one first; " +
		r.waits.Error()
}

func (r *redefinedError) Unwrap() error { return r.waits }

// identity is what of a CustomResourceDefinition stays for its life.
type identity struct{ scope, kind string }

func identityOf(definition map[string]any) (id identity) {
	spec, _ := definition["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	id.scope, _ = spec["scope"].(string)
	id.kind, _ = names["kind"].(string)
	return id
}

// differs says what another definition has otherwise, "" for nothing.
func (id identity) differs(from identity) string {
	switch {
	case id.scope != from.scope:
		return fmt.Sprintf("scope %s instead of %s", id.scope, from.scope)
	case id.kind != from.kind:
		return fmt.Sprintf("kind %s instead of %s", id.kind, from.kind)
	}
	return ""
}

// redefine deletes the definition of an earlier source, when the update to that of the present one was refused for
// what no update changes. It returns the refusal for every other object.
func redefine(ctx context.Context, a *Applier, t *task, refused error) error {
	if t.Key.Class() != store.ClassCRD || !apierrors.IsInvalid(refused) || !t.record.Created ||
		t.record.OriginUID == "" || t.record.OriginUID == t.head.OriginUID() {
		return refused
	}
	found, whole, err := t.read(ctx)
	if err != nil {
		return err
	}
	if found == nil || found.Metadata.UID != t.record.UID {
		return a.lose(t, fmt.Errorf("the definition on the target is another one now: %w", refused))
	}
	desired, err := t.whole()
	if err != nil {
		return err
	}
	differs := identityOf(desired).differs(identityOf(whole))
	if differs == "" {
		return refused
	}
	if err := deleting(found); err != nil {
		return err
	}
	live, err := (&redefinition{a, t, map[string]bool{"": false, t.Key.Space: true}}).goesAlong(ctx)
	if err != nil {
		return &redefinedError{differs, err}
	}
	for k, uid := range live {
		a.pendingDeletes.begin(k, uid)
	}
	a.Log.Info("the definition is deleted on the target and made anew", "key", t.Key, "with", differs)
	return a.replaceBy(ctx, t, target.Deletion{UID: found.Metadata.UID})
}

// redefinition is a definition that takes the place of an earlier one.
type redefinition struct {
	applier *Applier
	task    *task
	wants   map[string]bool // whether a space wants it, too, as far as that was looked up
}

// errOthersLeft is returned while objects of an earlier definition are to be deleted by tombstones of their own,
// which say how, and which may be withheld.
var errOthersLeft = errors.New("objects of it are still being removed")

// goesAlong returns the objects that go with a definition, by their keys where they are desired again. It is an
// error while others are in it, or some that have a tombstone.
func (r *redefinition) goesAlong(ctx context.Context) (map[store.Key]string, error) {
	a, t := r.applier, r.task
	plural, group, _ := strings.Cut(t.Key.Name, ".")
	live := map[store.Key]string{}
	a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		if k.Resource == plural && k.Group == group && r.UID != "" && a.Gate.SameView(t.at, k) {
			live[k] = r.UID
		}
		return false
	})
	for k := range live {
		e, found, err := a.Desired.Get(k)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", k, err)
		}
		if !found || e.Tombstone {
			return nil, errOthersLeft
		}
	}
	return live, site.ForeignOfKind(ctx, t.client, group, plural, r.takes)
}

// takes reports whether an object goes with the earlier definition: this agent has written it, or it goes with one
// that came from a space that wants the new one.
func (r *redefinition) takes(o *target.Object) bool {
	by := o.Metadata.Labels[target.LabelSite]
	if r.of(o.OriginSpace()) && (by == "" || by == r.applier.Clients.Site()) ||
		r.of(o.Metadata.Annotations[target.AnnotationOrphanOf]) {
		return true
	}
	return slices.ContainsFunc(o.Metadata.OwnerReferences, func(owner target.Owner) bool {
		k, known := r.applier.Inventory.ByUID(owner.UID)
		return known && r.of(k.Space)
	})
}

// of reports whether a space wants the definition as it is desired now.
func (r *redefinition) of(space string) bool {
	is, known := r.wants[space]
	if !known {
		k := r.task.Key
		k.Space = space
		e, found, err := r.applier.Desired.Get(k)
		is = err == nil && found && !e.Tombstone && site.EqualSpecs(e.Body, r.task.Body)
		r.wants[space] = is
	}
	return is
}
