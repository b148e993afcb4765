package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
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
func (a *Applier) redefine(ctx context.Context, t *task, refused error) error {
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
	live, err := a.goesAlong(ctx, t)
	if err != nil {
		return &redefinedError{differs, err}
	}
	for k, uid := range live {
		a.pendingDeletes.begin(k, uid)
	}
	a.Log.Info("the definition is deleted on the target and made anew", "key", t.Key, "with", differs)
	return a.replaceBy(ctx, t, target.Deletion{UID: found.Metadata.UID})
}

// errOthersLeft is returned while objects of an earlier definition are to be deleted by tombstones of their own,
// which say how, and which may be withheld.
var errOthersLeft = errors.New("objects of it are still being removed")

// goesAlong returns the objects that go with a definition, by their keys where they are desired again. It is an
// error while others are in it, or some that have a tombstone.
func (a *Applier) goesAlong(ctx context.Context, t *task) (map[store.Key]string, error) {
	plural, group, _ := strings.Cut(t.Key.Name, ".")
	live := map[store.Key]string{}
	a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		if k.Resource == plural && k.Group == group && r.UID != "" && a.sameView(t.at, k) {
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
	wants := map[string]bool{"": false, t.Key.Space: true}
	of := func(space string) bool {
		is, known := wants[space]
		if !known {
			is = a.wantsToo(t, space)
			wants[space] = is
		}
		return is
	}
	return live, a.foreignOfKind(ctx, t.client, group, plural, func(o *target.Object) bool {
		return of(o.OriginSpace()) && a.ownSite(o) || of(o.Metadata.Annotations[target.AnnotationOrphanOf]) ||
			a.ownedBySpace(o, of)
	})
}

// wantsToo reports whether another space shares a definition, or is to, as it is desired now.
func (a *Applier) wantsToo(t *task, space string) bool {
	k := t.Key
	k.Space = space
	e, found, err := a.Desired.Get(k)
	return err == nil && found && !e.Tombstone && equalSpecs(e.Body, t.Body)
}

// ownSite reports whether this agent has written an object, or one of before this site's label.
func (a *Applier) ownSite(o *target.Object) bool {
	of := o.Metadata.Labels[target.LabelSite]
	return of == "" || of == a.Clients.Site()
}

// ownedBySpace reports whether an object goes with one that came from such a space.
func (a *Applier) ownedBySpace(o *target.Object, of func(space string) bool) bool {
	for _, owner := range o.Metadata.OwnerReferences {
		if k, known := a.Inventory.ByUID(owner.UID); known && of(k.Space) {
			return true
		}
	}
	return false
}
