package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// deletingError is returned while the target still finishes a deletion. It waits for the finalizers, if there are any.
type deletingError struct {
	finalizers []string
	detail     string
}

// Error says what is awaited.
func (d *deletingError) Error() string {
	if len(d.finalizers) == 0 {
		return "the target is still deleting the object"
	}
	return "the target is deleting the object and waits for the finalizers " + strings.Join(d.finalizers, ", ") + d.detail +
		"; they are never taken off from here: see to the controller that has set them"
}

// deleting returns the error for an object that is being deleted, nil for one that is not.
func deleting(live *target.Object) error {
	if live.Metadata.DeletionTimestamp == "" {
		return nil
	}
	d := &deletingError{finalizers: live.Metadata.Finalizers}
	if left := remaining(live.Status); len(left) > 0 {
		d.finalizers, d.detail = append(d.finalizers, "kubernetes"), " ("+strings.Join(left, "; ")+")"
	}
	return d
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

// remove obeys a tombstone. It deletes or releases only the very object that we wrote, and is done when that is gone or let go.
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
	if !known {
		if r, err = a.lookUp(ctx, client, e.Key, &was); err != nil {
			return err
		}
	}
	how := removal(e, &was)
	switch {
	case r.UID == "":
		return a.finish(ctx, e, "nothing is applied")
	case e.Key.Class() != store.ClassOther && !r.Created:
		return a.finish(ctx, e, "not made by us")
	case how != store.RemoveOrphan && protected(e.Key):
		return a.finish(ctx, e, "protected name")
	}
	return a.carryOut(ctx, client, e, r, how)
}

// lookUp looks whether the target has the object of a tombstone whose record a crash has lost. The zero Record means that it has not.
func (a *Applier) lookUp(ctx context.Context, c *target.Client, k store.Key, was *target.Object) (inventory.Record, error) {
	if was.OriginUID() == "" {
		return inventory.Record{}, nil
	}
	live, err := a.find(ctx, c, target.Of(k, was.APIVersion), k, false)
	if errors.Is(err, target.ErrNotServed) {
		return inventory.Record{}, nil
	}
	if err != nil || live == nil || live.OriginUID() != was.OriginUID() || live.OriginSpace() != was.OriginSpace() {
		return inventory.Record{}, err
	}
	return inventory.Record{UID: live.Metadata.UID, Created: true, APIVersion: was.APIVersion, OriginUID: was.OriginUID()}, nil
}

// carryOut deletes or releases the object of a record.
func (a *Applier) carryOut(ctx context.Context, c *target.Client, e store.Entry, r inventory.Record, how store.Removal) error {
	resource := target.Of(e.Key, r.APIVersion)
	live, done, err := a.ours(ctx, c, resource, e.Key, r)
	switch {
	case done != "":
		return a.finish(ctx, e, done)
	case err != nil:
		return err
	case how == store.RemoveOrphan:
		if _, err := c.Release(ctx, resource, live); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		return a.finish(ctx, e, "left on the target")
	}
	if err := deleting(live); err != nil {
		return err
	}
	if err := a.leftovers(ctx, c, e.Key); err != nil {
		return err
	}
	// gofail: var beforeTargetDelete struct{}
	err = c.Delete(ctx, resource, e.Key.Namespace, e.Key.Name, r.UID, how == store.RemoveKeepDependents)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete: %w", err)
	}
	// gofail: var deletedBeforeRecord struct{}
	live, done, err = a.ours(ctx, c, resource, e.Key, r)
	if done != "" {
		return a.finish(ctx, e, done)
	}
	if err == nil {
		err = deleting(live)
	}
	if err == nil {
		err = &changedError{errors.New("the object has changed while it was being deleted")}
	}
	return err
}

// ours reads the object of a record, or tells why nothing is left to do.
func (a *Applier) ours(ctx context.Context, c *target.Client, res target.Resource, k store.Key, r inventory.Record) (*target.Object, string, error) {
	live, err := a.find(ctx, c, res, k, false)
	switch {
	case errors.Is(err, target.ErrNotServed):
		return nil, "kind no longer served", nil
	case err != nil:
		return nil, "", err
	case live == nil:
		return nil, "gone", nil
	case live.Metadata.UID != r.UID:
		return nil, "another object has the name", nil
	case live.OriginUID() != r.OriginUID:
		return nil, "taken over by somebody else", nil
	default:
		return live, "", nil
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
	if err == nil && ok && e.Tombstone {
		a.queue.kick(func(other store.Key) bool { return other == k }) // what it waits for has come
	}
	if err != nil || !ok || e.Tombstone {
		return false
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
