package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// errNotOurs is returned when the target has an object of this name that we did not make.
var errNotOurs = errors.New("the target already has an object of this name that was not delivered from here")

// withOrigin carries the UID of the source object with an error, for the report.
type withOrigin struct {
	uid string
	err error
}

func (w *withOrigin) Error() string { return w.err.Error() }
func (w *withOrigin) Unwrap() error { return w.err }

// apply brings a live entry to the target.
func (a *Applier) apply(ctx context.Context, e store.Entry) error {
	r, known := a.Inventory.Get(e.Key)
	if known && r.Applied == e.Hash && r.UID != "" {
		a.Reports.Applied(e.Key, r, nil)
		return nil
	}
	head := target.Object{}
	if err := json.Unmarshal(e.Body, &head); err != nil {
		return fmt.Errorf("decode desired object: %w", err)
	}
	if err := a.write(ctx, e, &head, r); err != nil {
		return &withOrigin{head.OriginUID(), err}
	}
	return nil
}

// write applies one object in one request: on the condition that the object has the UID that the inventory knows, or that there is none of
// this name yet. Nothing of anybody else is changed, also when it comes to be at the same moment.
func (a *Applier) write(ctx context.Context, e store.Entry, head *target.Object, r inventory.Record) error {
	client, err := a.client(ctx, e.Key)
	if err != nil {
		return err
	}
	resource := target.Of(e.Key, head.APIVersion)
	if r.UID != "" && e.Key.Class() == store.ClassNamespace && !r.Created {
		return a.keepNamespace(ctx, client, resource, e, head)
	}
	// gofail: var beforeTargetWrite struct{}
	live, made, err := client.Apply(ctx, resource, e.Key.Namespace, e.Key.Name, e.Body, target.Applying{UID: r.UID})
	if r.UID == "" && apierrors.IsConflict(err) {
		return a.meet(ctx, client, resource, e, head)
	}
	switch {
	case apierrors.IsConflict(err), r.UID != "" && apierrors.IsNotFound(err) && !missingNamespace(err):
		return a.recheck(ctx, client, resource, e, r.UID, err)
	case apierrors.IsInvalid(err) && r.UID != "" && r.OriginUID != head.OriginUID() && runsOnce(e.Key):
		return a.replace(ctx, client, resource, e.Key, r, err)
	case err != nil:
		return err
	}
	return a.written(ctx, client, resource, e, head, live, r.Created || made)
}

// written records what the target answered to a write.
func (a *Applier) written(ctx context.Context, c *target.Client, r target.Resource, e store.Entry, head, live *target.Object, created bool) error {
	// gofail: var writtenBeforeRecord struct{}
	a.record(e, head, live, created)
	if e.Key.Class() == store.ClassCRD {
		return a.established(ctx, c, r, e.Key)
	}
	return nil
}

// meet decides what to do with an object that is already there and is in no record.
func (a *Applier) meet(ctx context.Context, c *target.Client, r target.Resource, e store.Entry, head *target.Object) error {
	found, err := a.find(ctx, c, r, e.Key, false)
	switch {
	case err != nil:
		return err
	case found == nil:
		return &changedError{errors.New("the object that had the name is gone")}
	case found.OriginUID() != "" && found.OriginUID() == head.OriginUID(): // a record that a crash lost, or an agent that joined anew
		live, _, err := c.Apply(ctx, r, e.Key.Namespace, e.Key.Name, e.Body, target.Applying{UID: found.Metadata.UID})
		if err != nil {
			return err
		}
		return a.written(ctx, c, r, e, head, live, true)
	case e.Key.Class() == store.ClassNamespace:
		a.record(e, head, found, false)
		return nil
	default:
		return errNotOurs
	}
}

func (a *Applier) client(ctx context.Context, k store.Key) (*target.Client, error) {
	if err := a.Clients.EnsureSpace(ctx, k.Space); err != nil {
		return nil, err
	}
	return a.Clients.For(k.Space)
}

// find returns the object, nil when there is none.
func (a *Applier) find(ctx context.Context, c *target.Client, r target.Resource, k store.Key, cached bool) (*target.Object, error) {
	found, err := c.Get(ctx, r, k.Namespace, k.Name, cached)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// record remembers and reports what the target holds now, and wakes what waited for it.
func (a *Applier) record(e store.Entry, head, live *target.Object, created bool) {
	r := inventory.Record{
		UID: live.Metadata.UID, Applied: e.Hash, Generation: e.Generation, TargetGeneration: live.Metadata.Generation,
		ResourceVersion: live.Metadata.ResourceVersion, Created: created,
		APIVersion: head.APIVersion, Kind: head.Kind, OriginUID: head.OriginUID(),
	}
	a.Inventory.Put(e.Key, r)
	a.Reports.Applied(e.Key, r, live)
	switch e.Key.Class() {
	case store.ClassNamespace:
		a.queue.kick(func(k store.Key) bool { return k.Space == e.Key.Space && k.Namespace == e.Key.Name })
	case store.ClassCRD, store.ClassOther:
	}
}

// keepNamespace looks whether a namespace that is not ours is still there. It is never written.
func (a *Applier) keepNamespace(ctx context.Context, c *target.Client, r target.Resource, e store.Entry, head *target.Object) error {
	found, err := a.find(ctx, c, r, e.Key, true)
	if err != nil {
		return err
	}
	if found == nil {
		a.Inventory.Delete(e.Key)
		return errors.New("the namespace is gone from the target, it will be made")
	}
	a.record(e, head, found, false)
	return nil
}

// recheck finds out why a write that was conditional on a UID was refused: the object is gone, or another one has its name.
func (a *Applier) recheck(ctx context.Context, c *target.Client, r target.Resource, e store.Entry, uid string, cause error) error {
	found, err := a.find(ctx, c, r, e.Key, false)
	if err != nil {
		return err
	}
	if found != nil && found.Metadata.UID == uid {
		return cause
	}
	a.Inventory.Delete(e.Key)
	return &changedError{fmt.Errorf("the object on the target is another one now: %w", cause)}
}

// changedError tells that the inventory was wrong and now is not: try again at once.
type changedError struct{ error }

func (c *changedError) Unwrap() error { return c.error }

// runsOnce tells whether objects of this kind are run to their end and cannot be changed: made anew in the space means made anew here.
func runsOnce(k store.Key) bool {
	return k.Group == "batch" && k.Resource == "jobs" || k.Group == "" && k.Resource == "pods"
}

// replace removes the object of a source that was deleted and made anew while its tombstone was overtaken.
func (a *Applier) replace(ctx context.Context, c *target.Client, r target.Resource, k store.Key, old inventory.Record, cause error) error {
	if err := c.Delete(ctx, r, k.Namespace, k.Name, old.UID, false); err != nil && !apierrors.IsNotFound(err) {
		return errors.Join(cause, err)
	}
	a.Inventory.Delete(k)
	return &changedError{fmt.Errorf("the earlier object of this name is being removed: %w", cause)}
}

// How long a worker waits for a CustomResourceDefinition to be served before it plans a retry, and how often it looks.
const (
	establishTimeout = 10 * time.Second
	establishPoll    = 20 * time.Millisecond
)

// established waits until the target serves the kind, and wakes its objects.
func (a *Applier) established(ctx context.Context, c *target.Client, r target.Resource, k store.Key) error {
	deadline := time.Now().Add(establishTimeout)
	for {
		live, err := c.Get(ctx, r, "", k.Name, false)
		if err != nil {
			return fmt.Errorf("wait for %s to be established: %w", k.Name, err)
		}
		if conditionTrue(live.Status, "Established") {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: the CustomResourceDefinition is not established yet", target.ErrNotServed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(establishPoll):
		}
	}
	a.queue.kick(func(other store.Key) bool {
		return other.Space == k.Space && other.Resource+"."+other.Group == k.Name
	})
	return nil
}

func conditionTrue(status json.RawMessage, kind string) bool {
	var s struct {
		Conditions []struct{ Type, Status string } `json:"conditions"`
	}
	if json.Unmarshal(status, &s) != nil {
		return false
	}
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}
