package apply

import (
	"context"
	"errors"
	"strconv"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// errGone is the reason to drop a record whose object is not there.
var errGone = errors.New("the object is gone from the target")

// Seen is called with what a watch saw of an object in the inventory. It compares what the target
// records as ours, because a field that another manager changes or removes is ours no longer. It
// does no I/O and never waits.
func (a *Applier) Seen(k store.Key, s inventory.Sight) {
	r, known := a.Inventory.Get(k)
	if !known || r.UID != s.UID {
		return
	}
	if s.Finished && !r.Finished {
		a.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
			r.Finished = true
			return r, r.UID == s.UID
		})
	}
	if a.decided(k, s.Revision) && a.unapplied(k, s.UID) {
		a.queue.add(k, false)
	}
	if applied, _ := strconv.ParseUint(r.ResourceVersion, 10, 64); r.Owned == 0 || s.Revision <= applied {
		return
	}
	if s.Owned == r.Owned {
		if a.drifts.close(k) {
			a.queue.add(k, false)
		}
		return
	}
	if a.drifts.record(k, s.Content) {
		a.queue.addAfter(k, a.conflicts.wait(k))
	}
}

// drifted restores what others changed, or reports it.
func (a *Applier) drifted(ctx context.Context, t *task) error {
	if wait := a.conflicts.wait(t.Key); wait > 0 && t.policy.restores() {
		return &laterError{wait}
	}
	live, whole, err := t.read(ctx)
	if err != nil {
		return err
	}
	if live == nil || live.Metadata.UID != t.record.UID {
		a.conflicts.wrote(t.Key)
		return a.lose(t, errGone)
	}
	if uid := live.OriginUID(); uid != "" && uid != t.record.OriginUID {
		a.drifts.close(t.Key)
		a.Inventory.Delete(t.Key)
		return &takenError{space: live.OriginSpace()}
	}
	if live.Metadata.DeletionTimestamp != "" || live.OwnedSum() == t.record.Owned {
		a.accept(t, live, t.record.Owned) // what is being deleted will be told to be gone
		return nil
	}
	lost, err := a.lost(ctx, t, live, whole)
	switch {
	case err != nil:
		return err
	case len(lost) == 0:
		a.accept(t, live, live.OwnedSum())
		return nil
	case !t.policy.restores():
		return a.reportDrift(ctx, t, live, whole, lost)
	}
	return a.restore(ctx, t, live, whole, lost)
}

// lost returns the fields that are ours no longer and are not retained fields. None means that
// others changed only what is theirs.
func (a *Applier) lost(ctx context.Context, t *task, live *target.Object, whole map[string]any) ([]target.Loss, error) {
	desired, err := t.whole()
	if err != nil {
		return nil, err
	}
	all := live.Lost(desired)
	scaled := false
	for _, l := range all {
		scaled = scaled || l.Path == ".spec.replicas" || !tunnel.BuiltInGroup(t.Key.Group)
	}
	pointers, err := a.retainedFields(ctx, t, live, scaled)
	if err != nil {
		return nil, err
	}
	for _, p := range pointers {
		if err := live.Leave(desired, whole, p); err != nil {
			return nil, &policyError{err}
		}
	}
	rest := live.Lost(desired)
	if len(all) == 0 && t.policy.restores() {
		return []target.Loss{{Path: "a field"}}, nil // it cannot be told which; writing what is equal changes nothing
	}
	return rest, nil
}

// accept records what is ours now as what should be ours.
func (a *Applier) accept(t *task, live *target.Object, owned uint64) {
	a.drifts.close(t.Key)
	var r inventory.Record
	if a.Inventory.Update(t.Key, func(now inventory.Record) (inventory.Record, bool) {
		now.Owned = owned
		now.Autoscaled, now.OwnAutoscaler = t.record.Autoscaled, t.record.OwnAutoscaler
		now.ScalePath = t.record.ScalePath
		if owned == live.OwnedSum() {
			now.ResourceVersion = live.Metadata.ResourceVersion
		}
		r = now
		return now, now.UID == t.record.UID
	}) {
		a.Reports.Applied(t.Key, r, live)
	}
}
