package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// deletingError is returned while the target still finishes a deletion. It waits for the
// finalizers, if there are any.
type deletingError struct {
	finalizers []string
	detail     string
}

// Error says what is awaited.
func (d *deletingError) Error() string {
	if len(d.finalizers) == 0 {
		return "the target is still deleting the object"
	}
	return "the target is deleting the object and waits for the finalizers " + strings.Join(
		d.finalizers,
		", ",
	) + d.detail +
		"; they are never taken off from here: see to the controller that has set them"
}

// deleting returns the error for an object that is being deleted, nil for one that is not.
func deleting(live *target.Object) error {
	if live.Metadata.DeletionTimestamp == "" {
		return nil
	}
	d := &deletingError{}
	for _, f := range live.Metadata.Finalizers {
		if f != metav1.FinalizerDeleteDependents { // the target's own, while what the object owns ends
			d.finalizers = append(d.finalizers, f)
		}
	}
	if left := remaining(live.Status); len(left) > 0 {
		d.finalizers, d.detail = append(d.finalizers, "kubernetes"), " ("+strings.Join(left, "; ")+")"
	}
	return d
}

// endingNamespaceError says that nothing can be written in a namespace, since it is being deleted: by
// somebody else, or because nothing was placed there any more.
type endingNamespaceError struct {
	name string
	left []string // what the deletion waits for, in the target's words
}

// Error says what the deletion waits for.
func (e *endingNamespaceError) Error() string {
	text := "the namespace " + e.name + " is being deleted on the target; this object is written when it is gone"
	if len(e.left) > 0 {
		text += "; the deletion waits: " + strings.Join(e.left, "; ")
	}
	return text
}

// ending returns why nothing can be written in the namespace of an object: it is being deleted. It is
// nil when it is not, or when that cannot be read.
func (a *Applier) ending(ctx context.Context, t *task) error {
	if t.client == nil || t.at.Namespace == "" {
		return nil
	}
	ns, err := a.find(ctx, t.client, site.Namespaces, store.Key{Name: t.at.Namespace}, false)
	if err != nil || ns == nil || ns.Metadata.DeletionTimestamp == "" {
		return nil
	}
	return &endingNamespaceError{t.at.Namespace, remaining(ns.Status)}
}

// remaining is what a Namespace says is left in it.
func remaining(status json.RawMessage) (left []string) {
	var s struct {
		Conditions []struct{ Type, Status, Message string } `json:"conditions"`
	}
	if json.Unmarshal(status, &s) != nil {
		return nil
	}
	for _, c := range s.Conditions {
		if c.Status == "True" && (c.Type == "NamespaceContentRemaining" || c.Type == "NamespaceFinalizersRemaining") {
			left = append(left, c.Message)
		}
	}
	return left
}

// remove carries out a tombstone. It deletes or releases only the very object that we wrote. It is
// done when that is gone or released.
func (a *Applier) remove(ctx context.Context, e store.Entry) error {
	was := target.Object{} // what the tombstone removes; unknown in a file from before tombstones kept it
	if len(e.Body) > 0 {
		if err := json.Unmarshal(e.Body, &was); err != nil {
			return fmt.Errorf("decode the removed object: %w", err)
		}
	}
	client, err := a.Clients.For(e.Key.Space)
	if err != nil {
		return err
	}
	r, known := a.Inventory.Get(e.Key)
	if !known { // a crash may have lost the record
		r = inventory.Record{Created: true, APIVersion: was.APIVersion, OriginUID: was.OriginUID()}
	}
	how, at := removal(e, &was), a.Clients.KeyThere(a.Gate.MappingOf(e.Key, r, &was), e.Key)
	switch do := planRemoval(e.Key, at, r, how, a.Gate.Sealed()); {
	case do == actNotApplied, do == actNotOurs, do == actProtected:
		return a.finish(ctx, e, string(do))
	case do == actGiveBack:
		return a.giveBack(ctx, client, e, at, r.UID)
	case do == actTakeOff:
		return takeOffAccount(ctx, a, client, e, at, r)
	case do == actDelete && how == store.RemoveOrphan:
		how = store.RemoveDelete
	}
	return a.takeAway(ctx, client, e, at, r, how)
}

// takeAway deletes or releases the object of a record, which is at a key of the target.
func (a *Applier) takeAway(
	ctx context.Context,
	c *target.Client,
	e store.Entry,
	at store.Key,
	r inventory.Record,
	how store.Removal,
) error {
	if heir, ok := a.Gate.Definitions().Heir(e.Key, r.UID); ok {
		a.bequeath(heir)
		return a.finish(ctx, e, "goes on as the definition of space "+heir.Space)
	}
	if how != store.RemoveOrphan {
		if err := dropMoverClaim(ctx, a, c, e, at); err != nil {
			return err
		}
	}
	resource := target.Of(e.Key, r.APIVersion)
	if gone, err := a.removeUnread(ctx, c, resource, e, at, r, how); gone || err != nil {
		return err
	}
	live, done, err := a.ours(ctx, c, resource, at, r)
	if live != nil && len(e.Body) == 0 {
		how = removal(e, live) // all that was found of it after a loss is the object itself
	}
	switch {
	case done == lost && how != store.RemoveOrphan:
		if err := a.staying.markClaimsOfGone(ctx, c, e, at); err != nil {
			return err
		}
		return a.finish(ctx, e, done)
	case done != "":
		return a.finish(ctx, e, done)
	case err != nil:
		return err
	case how == store.RemoveOrphan:
		if err := a.staying.disownClaims(ctx, c, at, live); err != nil {
			return err
		}
		if _, err := a.Gate.Accounts.Writer(c, e.Key).Release(ctx, resource, live); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		return a.finish(ctx, e, "left on the target")
	}
	if live.Metadata.Annotations[target.AnnotationExisted] != "" {
		return a.giveBack(ctx, c, e, at, live.Metadata.UID)
	}
	if err := a.waiting(ctx, c, at, live); err != nil {
		return err
	}
	if err := a.Gate.Contents(ctx, c, at); err != nil {
		return err
	}
	if err := a.staying.markClaims(ctx, c, e.Key, at, live.Spec); err != nil {
		return err
	}
	if wait := leavesLater(a.Callers, e.Key, at, live); wait > 0 {
		return &laterError{wait}
	}
	beside := shields{a.queue, a.Desired, a.Inventory}
	if waits, err := beside.waits(e.Key, live); err != nil || waits {
		return cmp.Or(err, error(&laterError{shieldAgain}))
	}
	if how == store.RemoveKeepDependents {
		if err := a.staying.markDependents(ctx, c, at, live); err != nil {
			return err
		}
	}
	whole, err := beside.endsWithPods(e.Key, live, r)
	if err != nil {
		return err
	}
	keep := how == store.RemoveKeepDependents
	gone, err := a.delete(ctx, c, resource, e, at, target.Deletion{UID: live.Metadata.UID, KeepDependents: keep,
		WithDependents: whole && !keep})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete: %w", err)
	}
	if gone {
		return a.finish(ctx, e, "deleted")
	}
	live, done, err = a.ours(ctx, c, resource, at, r)
	if done != "" {
		return a.finish(ctx, e, done)
	}
	if err == nil {
		err = a.waiting(ctx, c, at, live)
	}
	if err == nil {
		err = &changedError{errors.New("the object has changed while it was being deleted")}
	}
	return err
}

// giveBack releases a namespace that was there before.
func (a *Applier) giveBack(ctx context.Context, c *target.Client, e store.Entry, at store.Key, uid string) error {
	if err := a.Gate.Release(ctx, c, at, uid); err != nil {
		return err
	}
	return a.finish(ctx, e, "given back")
}

// removeUnread deletes an object in one request when the target still has the version that was
// written last, which is known to be ours. It is tried only where that is likely: what has a
// generation has a status, which changes. It reports whether all is done; otherwise the object is
// to be read.
func (a *Applier) removeUnread(ctx context.Context, c *target.Client, res target.Resource, e store.Entry, at store.Key,
	r inventory.Record, how store.Removal,
) (bool, error) {
	if e.Key.Class() != store.ClassOther || how == store.RemoveOrphan || how == store.RemoveKeepDependents ||
		len(e.Body) == 0 || r.UID == "" ||
		r.ResourceVersion == "" ||
		r.TargetGeneration != 0 || runsPods(e.Key) || isNetworkPolicy(e.Key) {
		return false, nil
	}
	gone, err := a.delete(
		ctx,
		c,
		res,
		e,
		at,
		target.Deletion{
			UID:             r.UID,
			ResourceVersion: r.ResourceVersion,
		},
	)
	switch {
	case gone:
		return true, a.finish(ctx, e, "deleted")
	case err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !errors.Is(err, target.ErrNotServed):
		return false, fmt.Errorf("delete: %w", err)
	}
	a.Inventory.Update(e.Key, func(r inventory.Record) (inventory.Record, bool) {
		r.ResourceVersion = "" // not again: it is another one by now
		return r, true
	})
	return false, nil
}

// delete asks the target for the deletion of the object of a tombstone, unless it is desired again
// meanwhile. It is said first: a parent that wants the object back would take the old report for
// the object that is to come.
func (a *Applier) delete(
	ctx context.Context,
	c *target.Client,
	res target.Resource,
	e store.Entry,
	at store.Key,
	d target.Deletion,
) (gone bool, err error) {
	a.Reports.Removing(e.Key)
	if now, ok, err := a.Desired.Get(e.Key); err != nil || !ok || !now.Tombstone {
		return false, errors.Join(err, &changedError{errors.New("the object is desired again")})
	}
	if a.Listener != nil {
		a.Listener.Deleting(e)
	}
	a.pendingDeletes.begin(e.Key, d.UID)
	// gofail: var beforeTargetDelete struct{}
	gone, err = a.Gate.Accounts.Writer(c, e.Key).Delete(ctx, res, at.Namespace, at.Name, d)
	// gofail: var deletedBeforeRecord struct{}
	return gone, err
}

// lost is why nothing is left to do where the target has no object of the name.
const lost = "gone"

// ours reads the object of a record, or tells why nothing is left to do. An object with another UID
// than the record's is ours when it carries the origin UID of the same source: a crash lost the record of
// its making.
func (a *Applier) ours(
	ctx context.Context,
	c *target.Client,
	res target.Resource,
	at store.Key,
	r inventory.Record,
) (*target.Object, string, error) {
	live, err := a.find(ctx, c, res, at, false)
	switch {
	case errors.Is(err, target.ErrNotServed):
		return nil, "kind no longer served", nil
	case err != nil:
		return nil, "", err
	case live == nil:
		return nil, lost, nil
	case live.OriginUID() != r.OriginUID || live.OriginSpace() != at.Space:
		return nil, "the object of this name is not ours", nil
	default:
		return live, "", nil
	}
}

// finish ends the life of a key: its record goes, and its tombstone after that.
func (a *Applier) finish(ctx context.Context, e store.Entry, why string) error {
	a.Log.Debug("deletion done", "key", e.Key, "how", why)
	if a.Gate.Hosts.Gone(e.Key) {
		a.queue.kick(func(k store.Key) bool { return policy.Exposes(k.Group, k.Resource) })
	}
	a.Inventory.Delete(e.Key)
	a.Gate.Mirrors.Drop(e.Key)
	a.remirror(e.Key)
	a.tracks.forget(e.Key)
	a.remade.end(e.Key)
	a.Reports.Removed(e.Key)
	a.Variants.Forget(e.Key)
	a.Gate.Denials.Clear(e.Key)
	if runsPods(e.Key) {
		a.queue.hurry(a.queue.beside(e.Key, isNetworkPolicy)) // one may have waited for that
	}
	if e.Key.Class() != store.ClassOther { // another space may wait for the name
		a.queue.kick(func(k store.Key) bool {
			return k.Class() == e.Key.Class() &&
				(k.Name == e.Key.Name || k.Class() == store.ClassNamespace) // under a name of its own there
		})
	}
	a.finished.add(ctx, e)
	return nil
}
