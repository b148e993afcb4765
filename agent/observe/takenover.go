package observe

import (
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// takeOver records which placed object has taken over a Pod that was itself placed, as the controllers of
// a cluster do where a selector takes it. One that is not known yet is waited for. The lock of the Observer
// must be held.
func (rec *record) takeOver(o *Observer, live *target.Object) {
	k, controller := rec.key, live.ControllerUID()
	if (resource{k.Group, k.Resource}) != podResource || controller == "" {
		return
	}
	owner, top, ok := o.placedAboveLocked(controller)
	if !ok {
		if w, followed := o.watchKeyOf(k, podResource); followed {
			o.owners.wait(rec.uid, top, place{watch: w, namespace: live.Metadata.Namespace, name: live.Metadata.Name})
			rec.revision = 0 // so that it is read again
		}
		return
	}
	if source, ok := o.Inventory.Get(owner); ok && owner.Space == k.Space && owner.Namespace == k.Namespace {
		rec.filled = &store.Filled{Controller: &store.Controller{
			APIVersion: source.APIVersion, Kind: source.Kind, Name: owner.Name, UID: source.OriginUID}}
	}
}

// takenOver reports whether the record is of a Pod of this UID that a placed object had taken over. The record
// may be nil.
func (rec *record) takenOver(uid string) bool {
	return rec != nil && rec.uid == uid && rec.filled != nil && rec.filled.Controller != nil
}
