package apply

import (
	"encoding/json"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

// stayAway reports an object that went from the target and is not created again.
func (a *Applier) stayAway(t *task) error {
	r := t.record
	if r.Finished {
		r.Applied, r.Generation = t.Hash, t.Generation
		a.Inventory.Put(t.Key, r)
		a.Reports.Applied(t.Key, r, nil)
		return nil
	}
	a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: "Drifted",
		Message: "the object was deleted on the target; the Placement's spec.sync.whenDrifted is " +
			"Report, so it is made again only when it changes here"})
	return nil
}

// ended records an object that ran to its end before this site knew of it.
func (a *Applier) ended(t *task) error {
	t.record = inventory.Record{
		APIVersion: t.head.APIVersion,
		Kind:       t.head.Kind,
		OriginUID:  t.head.OriginUID(),
		Prefix:     string(t.mapping),
		Finished:   true,
		Gone:       true,
	}
	return a.stayAway(t)
}

// Vanished is called when the object with this UID is no longer on the target. It reports whether
// the target lacks what is desired.
//
// A desired object is written again: at once the first time, ever slower when somebody keeps
// deleting it. An object that was deleted from here, and is desired again, is no external delete. A
// Job or Pod that has finished is not run again; running is true if it was seen unfinished when it
// went. Neither is a Pod that a placed controller had taken over: its life was the controller's.
func (a *Applier) Vanished(k store.Key, uid string, running, takenOver bool) bool {
	r, known := a.Inventory.Get(k)
	if !known || r.UID != uid {
		return false
	}
	e, ok, err := a.Desired.Get(k)
	if err == nil && ok && e.Tombstone {
		a.queue.kick(func(other store.Key) bool { return other == k }) // what it waits for has come
	}
	if err != nil || !ok || e.Tombstone || e.UnknownBody {
		return false
	}
	a.drifts.close(k)
	a.remade.end(k)
	t := &task{Entry: e, record: r}
	if err := t.decode(); err != nil {
		return false // its report says so already
	}
	ours := a.pendingDeletes.gone(k, uid)
	// A Job that its own time to live removed while nobody looked had ended before.
	ended := takenOver && !ours
	finished := r.Finished || ended || !ours && !running && hasTimeToLive(k, t.head.Spec)
	known = a.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
		if r.UID != uid {
			return r, false
		}
		r.UID, r.Finished, r.Gone = "", finished, finished || !ours && !t.policy.restores()
		if r.Ended = ended; !r.Gone {
			r.Applied = store.Hash{}
		}
		return r, true
	})
	switch {
	case known && ended:
		a.queue.add(k, false) // its report says so
		return false
	case !known || finished:
		return false
	case ours, !t.policy.restores():
		a.queue.add(k, false)
		return true
	}
	a.Log.Info("object vanished from the target, writing it again", "key", k)
	a.conflicts.wrote(k)
	a.queue.addAfter(k, a.conflicts.early(k))
	return true
}

func hasTimeToLive(k store.Key, spec json.RawMessage) bool {
	var s struct {
		TTL *int64 `json:"ttlSecondsAfterFinished"`
	}
	return k.Group == "batch" && k.Resource == "jobs" && json.Unmarshal(spec, &s) == nil && s.TTL != nil
}

// Rewound is called when the target's history went back for these objects. They are applied again,
// which changes nothing where they are equal.
func (a *Applier) Rewound(keys []store.Key) {
	for _, k := range keys {
		if a.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
			r.Applied, r.ResourceVersion = store.Hash{}, ""
			return r, r.UID != ""
		}) {
			a.queue.add(k, false)
		}
	}
}
