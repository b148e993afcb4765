package observe

import (
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// place says where on the target an object is, so that it can be read again or be swept.
type place struct {
	watch           watchKey
	namespace, name string
	uid             string // of an object that is gone if it is not found any more; empty where that means nothing
}

// stray is a delivered object that was seen before its record.
type stray struct {
	place
	revision uint64
}

// ownerGraph knows who owns whom on the target. It has the middle of the chain Pod -> ReplicaSet or
// Job -> placed object, and Pods that wait for a missing link. It holds names and UIDs alone.
type ownerGraph struct {
	parents compactmap.Map[string, parent]           // UID of a ReplicaSet or Job -> its controller
	waiting compactmap.Map[string, map[string]place] // UID that is not known yet -> UIDs of Pods below it
	waits   compactmap.Map[string, string]           // the other way round
}

type parent struct {
	uid   string
	watch watchKey
}

// wait lets a Pod wait until a UID above it is known.
func (f *ownerGraph) wait(pod, above string, at place) {
	f.unwait(pod)
	below := f.waiting.Get(above)
	if below == nil {
		below = map[string]place{}
		f.waiting.Put(above, below)
	}
	below[pod] = at
	f.waits.Put(pod, above)
}

func (f *ownerGraph) unwait(pod string) {
	above, ok := f.waits.Find(pod)
	if !ok {
		return
	}
	f.waits.Delete(pod)
	below := f.waiting.Get(above)
	if delete(below, pod); len(below) == 0 {
		f.waiting.Delete(above)
	}
}

// placedAboveLocked returns the placed object that a UID belongs to. Otherwise it returns the UID
// that would have to be known.
func (o *Observer) placedAboveLocked(uid string) (store.Key, string, bool) {
	for range 4 {
		if k, ok := o.Inventory.ByUID(uid); ok {
			return k, uid, true
		}
		if below, ok := o.associated.Find(uid); ok && below.owner != nil {
			if r, ok := o.Inventory.Get(*below.owner); ok {
				return *below.owner, r.UID, true
			}
		}
		p, ok := o.owners.parents.Find(uid)
		if !ok {
			break
		}
		uid = p.uid
	}
	return store.Key{}, uid, false
}

// middleLocked records that a ReplicaSet or Job has a controller, and looks again at the Pods that
// waited for it.
func (o *Observer) middleLocked(w watchKey, live *target.Object) {
	above := live.ControllerUID()
	if above == "" {
		return
	}
	uid := live.Metadata.UID
	o.owners.parents.Put(uid, parent{above, w})
	for pod, at := range o.owners.waiting.Get(uid) {
		o.owners.unwait(pod)
		if _, top, ok := o.placedAboveLocked(uid); ok {
			o.fetch.add(at)
		} else {
			o.owners.wait(pod, top, at)
		}
	}
}

// claimLocked reads again what was seen of an object, or below it, before its record came.
func (o *Observer) claimLocked(r inventory.Record, live *target.Object) {
	o.appearedLocked(r.UID)
	if s, ok := o.strays.Find(r.UID); ok {
		o.strays.Delete(r.UID)
		if live == nil || s.revision > live.Revision() {
			o.fetch.add(s.place)
		}
	}
	for pod, at := range o.owners.waiting.Get(r.UID) {
		o.owners.unwait(pod)
		o.fetch.add(at)
	}
}
