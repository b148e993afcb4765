package observe

import (
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// seen records an object as the target has it now.
func (o *Observer) seen(w watchKey, live *target.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.observeLocked(w, live)
}

// observeRead records the answer to a read, unless the object's deletion was seen since the read
// began.
func (o *Observer) observeRead(w watchKey, live *target.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if gone := o.fetch.reading(nil); !gone[live.Metadata.UID] {
		o.observeLocked(w, live)
	}
}

func (o *Observer) observeLocked(w watchKey, live *target.Object) {
	if w.born {
		o.bornLocked(w, live)
		return
	}
	if w.resource == eventResource {
		o.observeEventLocked(live)
		return
	}
	uid := live.Metadata.UID
	if k, ok := o.Inventory.ByUID(uid); ok {
		rec := o.recordLocked(k)
		if r, ok := o.Inventory.Get(k); ok && rec.originUID == "" {
			rec.applied(r)
		}
		if o.observedLocked(k, rec, live) {
			o.publishLocked(k)
			o.applier.Seen(k, rec.sight())
		}
		if isNamespace(k) {
			o.namespaceSeenLocked(k, live)
		}
		if w.resource == replicaSetResource || w.resource == jobResource {
			o.middleLocked(w, live)
		}
		return
	}
	switch {
	case live.OriginUID() != "" && live.ControllerUID() == "": // a ReplicaSet inherits its Deployment's annotations
		o.strays.Put(
			uid,
			stray{place{watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name}, live.Revision()},
		)
	case w.resource == podResource:
		o.associateLocked(w, live)
	case w.resource == replicaSetResource, w.resource == jobResource:
		o.middleLocked(w, live)
		o.associateLocked(w, live)
	case w.resource == revisionResource, w.resource == sliceResource, w.resource == deviceResource:
		o.associateLocked(w, live)
	case w.resource == claimResource:
		o.associateClaimLocked(w, live)
	}
}

// deleted records that an object was deleted, with its last state.
func (o *Observer) deleted(w watchKey, live *target.Object) {
	if w.born {
		o.bornGone(live.Metadata.UID)
		return
	}
	running := !finished(w.resource, live)
	o.mu.Lock()
	o.recentDeletes.add(live, running)
	o.mu.Unlock()
	if k, ours := o.Inventory.ByUID(live.Metadata.UID); ours && !running {
		o.applier.Seen(k, inventory.Sight{UID: live.Metadata.UID, Finished: true})
	}
	o.gone(live.Metadata.UID, running)
}

// gone records that an object with this UID is no longer on the target.
func (o *Observer) gone(uid string, running bool) {
	o.mu.Lock()
	o.fetch.deleted(uid)
	o.strays.Delete(uid)
	o.owners.parents.Delete(uid)
	o.owners.unwait(uid)
	o.eventGoneLocked(uid)
	if rec := o.associated.Get(uid); rec != nil {
		o.forgetEventsOfLocked(*rec.owner, uid)
		o.associated.Delete(uid)
		o.dropLocked(rec.key)
	}
	o.sliceGoneLocked(uid)
	k, ok := o.Inventory.ByUID(uid)
	if ok && isNamespace(k) {
		o.namespaceGoneLocked(k)
	}
	takenOver := ok && o.records.Get(k).takenOver(uid)
	o.mu.Unlock()
	if !ok || !o.applier.Vanished(k, uid, running, takenOver) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if rec := o.records.Get(k); rec != nil && rec.uid == uid {
		rec.uid, rec.status, rec.hash = "", nil, store.Hash{}
		o.publishLocked(k)
	}
}

// tracked returns the UIDs of everything known of one watched resource.
func (o *Observer) tracked(w watchKey) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.born {
		return o.bornTrackedLocked(w)
	}
	out := map[string]bool{}
	for rec := range o.records.All() {
		if rec.counted == nil || *rec.counted != w {
			continue
		}
		if r, ok := o.Inventory.Get(rec.key); ok && r.UID != "" {
			out[r.UID] = true
		}
	}
	for uid, s := range o.strays.All() {
		if s.watch == w {
			out[uid] = true
		}
	}
	for uid, p := range o.owners.parents.All() {
		if p.watch == w {
			out[uid] = true
		}
	}
	for uid, above := range o.owners.waits.All() {
		if o.owners.waiting.Get(above)[uid].watch == w {
			out[uid] = true
		}
	}
	for uid, rec := range o.events.keys.All() {
		owner := o.records.Get(*rec.owner)
		if w.resource == eventResource && owner != nil && owner.counted != nil && owner.counted.view == w.view {
			out[uid] = true
		}
	}
	for _, uid := range o.slices.surplusIn(w) {
		out[uid] = true
	}
	for uid, rec := range o.associated.All() {
		if (resource{rec.key.Group, rec.key.Resource}) == w.resource {
			if at, ok := o.watchKeyOf(*rec.owner, w.resource); ok && at == w {
				out[uid] = true
			}
		}
	}
	return out
}
