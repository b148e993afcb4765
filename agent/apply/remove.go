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

// errDeleting is returned while the target still finishes a deletion.
var errDeleting = errors.New("the target is still deleting the object")

// protected tells names that are never deleted, whatever a tombstone says: the target's own namespaces and its administrators' rights.
func protected(k store.Key) bool {
	if k.Class() == store.ClassNamespace {
		return k.Name == "default" || strings.HasPrefix(k.Name, "kube-")
	}
	return strings.HasPrefix(k.Name, "system:") || k.Name == "cluster-admin" && k.Group == "rbac.authorization.k8s.io"
}

// remove obeys a tombstone. It deletes only the very object that the inventory says we wrote, and is done when that is gone.
func (a *Applier) remove(ctx context.Context, e store.Entry) error {
	r, known := a.Inventory.Get(e.Key)
	switch {
	case !known || r.UID == "":
		return a.finish(ctx, e, "nothing was applied")
	case protected(e.Key):
		return a.finish(ctx, e, "protected name")
	case e.Key.Class() != store.ClassOther && !r.Created:
		return a.finish(ctx, e, "not made by us")
	}
	client, err := a.Clients.For(e.Key.Space)
	if err != nil {
		return err
	}
	resource := target.Of(e.Key, r.APIVersion)
	done, err := a.removed(ctx, client, resource, e.Key, r)
	if done != "" {
		return a.finish(ctx, e, done)
	}
	if err != nil {
		return err
	}
	if err := a.leftovers(ctx, client, e.Key, r); err != nil {
		return err
	}
	err = client.Delete(ctx, resource, e.Key.Namespace, e.Key.Name, r.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete: %w", err)
	}
	if done, err = a.removed(ctx, client, resource, e.Key, r); done != "" {
		return a.finish(ctx, e, done)
	}
	return err
}

// removed looks at the object on the target. It returns why nothing is left to do, or errDeleting, or neither when a
// deletion has to be asked for.
func (a *Applier) removed(ctx context.Context, c *target.Client, res target.Resource, k store.Key, r inventory.Record) (string, error) {
	live, err := a.find(ctx, c, res, k, false)
	switch {
	case errors.Is(err, target.ErrNotServed):
		return "kind no longer served", nil
	case err != nil:
		return "", err
	case live == nil:
		return "gone", nil
	case live.Metadata.UID != r.UID:
		return "another object has the name", nil
	case live.OriginUID() != r.OriginUID:
		return "taken over by somebody else", nil
	case live.Metadata.DeletionTimestamp != "":
		return "", errDeleting
	default:
		return "", nil
	}
}

// finish ends the life of a key: its record goes, and its tombstone after that.
func (a *Applier) finish(ctx context.Context, e store.Entry, why string) error {
	a.Log.Debug("deletion done", "key", e.Key, "how", why)
	a.Inventory.Delete(e.Key)
	a.Reports.Removed(e.Key)
	select {
	case a.finished <- e:
	case <-ctx.Done():
	}
	return nil
}

// Vanished tells that the object with this UID is no longer on the target. If it is still desired it is written again, at
// once the first time and ever slower when somebody keeps deleting it; the answer tells whether it will be. A Job that its own
// time to live removed has done its work and stays away.
func (a *Applier) Vanished(k store.Key, uid string) bool {
	r, known := a.Inventory.Get(k)
	if !known || r.UID != uid {
		return false
	}
	e, ok, err := a.Desired.Get(k)
	if err != nil || !ok || e.Tombstone {
		return false // a tombstone's own worker sees that it is gone
	}
	if k.Group == "batch" && k.Resource == "jobs" && strings.Contains(string(e.Body), `"ttlSecondsAfterFinished":`) {
		return false
	}
	a.Log.Info("object vanished from the target, writing it again", "key", k)
	r.UID, r.Applied = "", store.Hash{}
	a.Inventory.Put(k, r)
	a.queue.addAfter(k, a.lost.wait(k))
	return true
}
