package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// errGone is the reason to forget a record whose object is not there.
var errGone = errors.New("the object is gone from the target")

// drifts are the objects whose fields were seen to be not ours any more, each by the content that it had then.
type drifts struct {
	mu   sync.Mutex
	seen map[store.Key]drift
}

type drift struct {
	content uint64
	handled bool // reported, and to be left until it changes again
}

// note adds a drift. It tells false for one that is known.
func (d *drifts) note(k store.Key, content uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.seen[k]; ok && known.content == content {
		return false
	}
	d.seen[k] = drift{content: content}
	return true
}

// open tells whether there is a drift to look at.
func (d *drifts) open(k store.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.seen[k]
	return ok && !known.handled
}

// handle leaves a drift as it is until it changes.
func (d *drifts) handle(k store.Key, content uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[k] = drift{content: content, handled: true}
}

// close forgets a drift, and tells whether there was one.
func (d *drifts) close(k store.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.seen[k]
	delete(d.seen, k)
	return ok
}

// Seen tells what a watch saw of an object in the inventory. Whether somebody changed what we applied is known by what the target says is ours: a
// field that another manager changes or removes is not. It does no I/O and never waits.
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
	if applied, _ := strconv.ParseUint(r.ResourceVersion, 10, 64); r.Owned == 0 || s.Revision <= applied {
		return
	}
	if s.Owned == r.Owned {
		if a.drifts.close(k) {
			a.queue.add(k, false)
		}
		return
	}
	if a.drifts.note(k, s.Content) {
		a.queue.addAfter(k, a.contests.wait(k))
	}
}

// drifted brings back what others changed, or says that they did.
func (a *Applier) drifted(ctx context.Context, t *task) error {
	if wait := a.contests.wait(t.Key); wait > 0 && t.policy.restores() {
		return &laterError{wait}
	}
	live, whole, err := t.read(ctx)
	if err != nil {
		return err
	}
	if live == nil || live.Metadata.UID != t.record.UID {
		a.contests.wrote(t.Key)
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
		return a.tell(ctx, t, live, whole, lost)
	}
	return a.restore(ctx, t, live, whole, lost)
}

// tell reports a drift. Fields that others have set back to what is desired are shared with them, which changes no field.
func (a *Applier) tell(ctx context.Context, t *task, live *target.Object, whole map[string]any, lost []target.Loss) error {
	if !slices.ContainsFunc(lost, func(l target.Loss) bool { return l.By == "" }) {
		body, err := a.leaving(ctx, t, live, whole)
		if err != nil {
			return err
		}
		now, _, err := t.put(ctx, body,
			target.Applying{UID: t.record.UID, ResourceVersion: live.Metadata.ResourceVersion, Yield: true})
		if err == nil {
			a.note(t, now, t.record.Created)
			return nil
		}
		var others *fieldConflict
		if err = a.refusedUpdate(ctx, t, err); !errors.As(err, &others) {
			return err
		}
		lost = others.lost
	}
	a.drifts.handle(t.Key, live.ContentSum())
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Drifted", Message: describe(lost) +
		"; the Placement's spec.sync.whenDrifted is Report, so it stays until somebody sets it back there or changes it here"})
	return nil
}

// lost are the fields that are not ours any more and are not left to the target. None means that others changed only what is theirs.
func (a *Applier) lost(ctx context.Context, t *task, live *target.Object, whole map[string]any) ([]target.Loss, error) {
	desired, err := t.whole()
	if err != nil {
		return nil, err
	}
	all := live.Lost(desired)
	scaled := false
	for _, l := range all {
		scaled = scaled || l.Path == ".spec.replicas"
	}
	pointers, err := a.left(ctx, t, scaled)
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

// accept takes what is ours now for what should be.
func (a *Applier) accept(t *task, live *target.Object, owned uint64) {
	a.drifts.close(t.Key)
	var r inventory.Record
	if a.Inventory.Update(t.Key, func(now inventory.Record) (inventory.Record, bool) {
		now.Owned, now.Autoscaled = owned, t.record.Autoscaled
		if owned == live.OwnedSum() {
			now.ResourceVersion = live.Metadata.ResourceVersion
		}
		r = now
		return now, now.UID == t.record.UID
	}) {
		a.Reports.Applied(t.Key, r, nil)
	}
}

// restore applies the desired fields again.
func (a *Applier) restore(ctx context.Context, t *task, live *target.Object, whole map[string]any, lost []target.Loss) error {
	body, err := a.leaving(ctx, t, live, whole)
	if err != nil {
		return err
	}
	on := target.Applying{UID: t.record.UID}
	if len(t.policy.RetainFields) > 0 || t.record.Autoscaled {
		on.ResourceVersion = live.Metadata.ResourceVersion
	}
	now, _, err := t.put(ctx, body, on)
	if err != nil {
		return a.refusedUpdate(ctx, t, err)
	}
	times, wait := a.contests.wrote(t.Key)
	a.Log.Info("object was changed on the target, set back", "key", t.Key, "what", describe(lost), "times", times)
	a.note(t, now, t.record.Created)
	if times < contested {
		return nil
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Contested", Message: fmt.Sprintf(
		"%s, again and again; it was set back %d times and will be every %s: stop the other one, or list the field in the Placement's spec.sync.retainFields",
		describe(lost), times, wait.Round(time.Second))})
	return &laterError{wait}
}

// describe says who changed what, in a bounded text.
func describe(lost []target.Loss) string {
	by := map[string][]string{}
	var order []string
	for _, l := range lost[:min(len(lost), maxNamed)] {
		if by[l.By] == nil {
			order = append(order, l.By)
		}
		by[l.By] = append(by[l.By], l.Path)
	}
	var parts []string
	for _, who := range order {
		what := strings.Join(by[who], ", ")
		if who == "" {
			parts = append(parts, what+" was removed on the target")
		} else {
			parts = append(parts, fmt.Sprintf("%q has changed %s on the target", who, what))
		}
	}
	if len(lost) > maxNamed {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, "; ")
}

// laterError is returned when a key has to wait for its time.
type laterError struct{ wait time.Duration }

func (l *laterError) Error() string {
	return "set back only now and then, because somebody else keeps changing it"
}

// stayAway reports an object that went from the target and is not made again.
func (a *Applier) stayAway(t *task) error {
	r := t.record
	if r.Finished {
		r.Applied, r.Generation = t.Hash, t.Generation
		a.Inventory.Put(t.Key, r)
		a.Reports.Applied(t.Key, r, nil)
		return nil
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Drifted",
		Message: "the object was deleted on the target; the Placement's spec.sync.whenDrifted is Report, so it is made again only when it changes here"})
	return nil
}

// Vanished tells that the object with this UID is no longer on the target. If it is still desired it is written again, at
// once the first time and ever slower when somebody keeps deleting it; the answer tells whether the target is without what is desired.
// What ran to its end is not run again; running is true when it was seen to be not at its end when it went.
func (a *Applier) Vanished(k store.Key, uid string, running bool) bool {
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
	a.drifts.close(k)
	t := &task{Entry: e, record: r}
	if err := t.decode(); err != nil {
		return false // its report says so already
	}
	// A Job that its own time to live removed while nobody looked had ended before.
	finished := r.Finished || !running && hasTimeToLive(k, t.head.Spec)
	known = a.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
		if r.UID != uid {
			return r, false
		}
		r.UID, r.Finished, r.Gone = "", finished, finished || !t.policy.restores()
		if !r.Gone {
			r.Applied = store.Hash{}
		}
		return r, true
	})
	switch {
	case !known || finished:
		return false
	case !t.policy.restores():
		a.queue.add(k, false)
		return true
	}
	a.Log.Info("object vanished from the target, writing it again", "key", k)
	wait := a.contests.wait(k)
	a.contests.wrote(k)
	a.queue.addAfter(k, wait)
	return true
}

func hasTimeToLive(k store.Key, spec json.RawMessage) bool {
	var s struct {
		TTL *int64 `json:"ttlSecondsAfterFinished"`
	}
	return k.Group == "batch" && k.Resource == "jobs" && json.Unmarshal(spec, &s) == nil && s.TTL != nil
}
