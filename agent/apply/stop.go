package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// Lease says which workloads must not run, because the lease of this site has ended.
type Lease interface {
	// Stops reports whether a workload must not run now.
	Stops(k store.Key, body []byte) (bool, error)
	// Stopped is called with what was stopped, each time that it is looked at, and Started with what may
	// run; was says that it is known to have been stopped until now. They must not block.
	Stopped(about target.Involved)
	Started(about target.Involved, was bool)
}

// stop replaces the variant of a workload that must not run by the form in which nothing of it runs.
// It reports whether it must not run, also where there is no such form and it has to be deleted.
func (a *Applier) stop(e store.Entry, r inventory.Record, v *variants.Variant) (stopped bool, err error) {
	if a.Lease == nil || a.Relay || r.Finished || !lease.MayRunOnce(e.Key.Group, e.Key.Resource) {
		return false, nil
	}
	if stopped, err = a.Lease.Stops(e.Key, v.Body); err != nil || !stopped {
		return false, err
	}
	body, err := lease.Stopped(e.Key, v.Body)
	switch {
	case errors.Is(err, lease.ErrNotHere):
		return true, nil
	case err != nil:
		return false, err
	}
	v.Body, v.Hash = body, stoppedHash(e, body)
	return true, nil
}

// stoppedHash is the hash of a variant of which nothing runs.
func stoppedHash(e store.Entry, body []byte) store.Hash {
	return store.HashBody(e.Generation, append([]byte("stopped "), body...))
}

// wasStopped reports whether the target has the variant of a workload of which nothing runs.
func wasStopped(e store.Entry, r inventory.Record, v variants.Variant) bool {
	if r.Variant == (store.Hash{}) || r.Variant == v.Hash {
		return false
	}
	body, err := lease.Stopped(e.Key, v.Body)
	return err == nil && r.Variant == stoppedHash(e, body)
}

// stopPod deletes a Pod that must not run. It is created again when it may.
func (a *Applier) stopPod(ctx context.Context, t *task) error {
	if t.record.UID != "" {
		client, err := a.Clients.For(t.Key.Space)
		if err != nil {
			return err
		}
		gone, err := a.Gate.Accounts.Writer(client, t.Key).Delete(ctx, t.resource, t.at.Namespace, t.at.Name,
			target.Deletion{UID: t.record.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("stop the Pod, because the lease of this site has ended: %w", err)
		}
		if !gone && err == nil {
			return &deletingError{}
		}
		a.Inventory.Delete(t.Key)
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "LeaseEnded", Message: "the lease of this " +
		"site has ended, so this Pod, which must not run twice, was deleted; it is created again when the parent " +
		"has been heard and says that it is still to be here"})
	return nil
}

// tellStopped says of a workload that was looked at whether it must not run. before is its record of
// then: that of a Pod which was deleted is gone.
func (a *Applier) tellStopped(e store.Entry, before inventory.Record, v variants.Variant, stopped bool) {
	k := e.Key
	if a.Lease == nil || a.Relay || !lease.MayRunOnce(k.Group, k.Resource) {
		return
	}
	r, known := a.Inventory.Get(k)
	if !known || r.UID == "" {
		r = before
	}
	if r.UID == "" {
		return
	}
	at := target.Mapping(r.Prefix).KeyThere(k)
	about := target.Involved{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: at.Namespace, Name: at.Name, UID: r.UID}
	if stopped {
		a.Lease.Stopped(about)
	} else {
		a.Lease.Started(about, wasStopped(e, before, v))
	}
}

// Again looks at objects again, without taking them for changed.
func (a *Applier) Again(keys []store.Key) {
	for _, k := range keys {
		a.conflicts.allow(k)
		a.queue.add(k, false)
	}
	a.queue.kick(func(k store.Key) bool { return lease.MayRunOnce(k.Group, k.Resource) })
}
