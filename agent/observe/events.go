package observe

import (
	"math/bits"
	"reflect"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/store/compactmap"
)

// Bounds of what is reported of the target's Events. Only warnings are reported: the five Events of
// a Pod's ordinary start say no more than its status does, and cost more.
const (
	eventsOfOne = 10  // of one placed object and what belongs to it; the latest
	eventsOfAll = 500 // of the site
	maxMessage  = 512
	// eventSlot is for how long a repetition is no news, unless it has become twice as frequent.
	eventSlot = 30 * time.Minute
)

// events are the Events of the target that are reported, and those whose object is unknown yet.
type events struct {
	keys  compactmap.Map[string, *record]               // UID of an Event -> its record
	owned compactmap.Map[store.Key, map[store.Key]bool] // placed object -> keys
	early compactmap.Map[string, []*target.Object]      // UID of what they are about -> Events
	pace  pace
}

func newEvents() events {
	return events{pace: newPace()}
}

// event is an Event of the target as it is reported.
type event struct {
	said  store.ReportEvent
	about string // the UID of what it is about
}

// maxEarly bounds the Events that wait for their object to be seen.
const maxEarly = 200

// observeEventLocked records an Event.
func (o *Observer) observeEventLocked(live *target.Object) {
	e, ok := live.Event()
	if !ok || e.Type != "Warning" || e.Component == target.FieldManager || e.Reporter == target.FieldManager {
		return // what a relay says itself is in the status that it reports, or about a mirror of its own
	}
	owner, ok := o.ownerOfLocked(e.About.UID)
	if !ok {
		early := &o.events.early
		for uid := range early.All() {
			if early.Len() < maxEarly {
				break
			}
			early.Delete(uid) // any: most are about what is not ours
		}
		waits := early.Get(e.About.UID)
		early.Put(e.About.UID, append(waits[:min(len(waits), eventsOfOne-1)], live))
		return
	}
	source, ok := o.Inventory.Get(owner)
	if !ok || o.comesAloneLocked(owner, eventResource) {
		return
	}
	said := store.ReportEvent{
		Owner: store.EventObject{
			APIVersion: source.APIVersion,
			Kind:       source.Kind,
			Name:       owner.Name,
		}, Type: e.Type, Reason: e.Reason,
		Message:   clip.Text(target.Mapping(source.Prefix).Words(owner.Namespace, e.Message), maxMessage),
		Component: e.Component, First: e.First.Unix(), Count: 1 << (bits.Len64(uint64(e.Count)) - 1),
		During: e.Last.Unix() / int64(eventSlot/time.Second),
	}
	if e.About.UID != source.UID {
		said.About = &store.EventObject{APIVersion: e.About.APIVersion, Kind: e.About.Kind, Name: e.About.Name}
	}
	k := store.Key{
		Space:     owner.Space,
		Resource:  eventResource.plural,
		Namespace: owner.Namespace,
		Name:      live.Metadata.Name,
	}
	rec := o.recordLocked(k)
	if rec.uid == live.Metadata.UID && live.Revision() != 0 && live.Revision() <= rec.revision {
		return
	}
	now := &event{said, e.About.UID}
	news := !reflect.DeepEqual(rec.event, now)
	o.events.keys.Delete(rec.uid)
	rec.uid, rec.revision, rec.at = live.Metadata.UID, live.Revision(), e.Last.UnixMilli()
	rec.event, rec.owner, rec.originUID = now, o.sharedLocked(owner), source.OriginUID
	o.events.keys.Put(rec.uid, rec)
	of := o.events.owned.Get(owner)
	if of == nil {
		of = map[store.Key]bool{}
		o.events.owned.Put(owner, of)
	}
	of[k] = true
	o.boundEventsLocked(owner)
	if news && o.records.Get(k) != nil {
		o.publishEventLocked(k)
	}
}

// ownerOfLocked returns the placed object that has this UID on the target, or that owns the object
// with this UID.
func (o *Observer) ownerOfLocked(uid string) (store.Key, bool) {
	if rec := o.associated.Get(uid); rec != nil {
		return *rec.owner, true
	}
	owner, _, ok := o.placedAboveLocked(uid)
	return owner, ok
}

// boundEventsLocked drops the oldest Events of a placed object, and of the site, if there are too
// many.
func (o *Observer) boundEventsLocked(owner store.Key) {
	if of := o.events.owned.Get(owner); len(of) > eventsOfOne {
		o.forgetEventLocked(o.oldestLocked(of))
	}
	if o.events.keys.Len() > eventsOfAll {
		all := map[store.Key]bool{}
		for _, rec := range o.events.keys.All() {
			all[rec.key] = true
		}
		o.forgetEventLocked(o.oldestLocked(all))
	}
}

func (o *Observer) oldestLocked(keys map[store.Key]bool) (oldest store.Key) {
	at := int64(0)
	for k := range keys {
		if rec := o.records.Get(k); at == 0 || rec.at < at {
			oldest, at = k, rec.at
		}
	}
	return oldest
}

// eventGoneLocked records that the target has forgotten an Event.
func (o *Observer) eventGoneLocked(uid string) {
	if rec := o.events.keys.Get(uid); rec != nil {
		o.forgetEventLocked(rec.key)
	}
}

// forgetEventLocked takes an Event out of the feed.
func (o *Observer) forgetEventLocked(k store.Key) {
	rec := o.records.Get(k)
	if rec == nil {
		return
	}
	o.events.keys.Delete(rec.uid)
	of := o.events.owned.Get(*rec.owner)
	if delete(of, k); len(of) == 0 {
		o.events.owned.Delete(*rec.owner)
	}
	o.events.pace.forget(k)
	o.dropLocked(k)
}

// forgetEventsOfLocked takes the Events of an object out of the feed, because it is gone.
func (o *Observer) forgetEventsOfLocked(owner store.Key, uid string) {
	o.events.early.Delete(uid)
	for k := range o.events.owned.Get(owner) {
		if uid == "" || o.records.Get(k).event.about == uid {
			o.forgetEventLocked(k)
		}
	}
}

// appearedLocked looks again at Events that came before their object was known.
func (o *Observer) appearedLocked(uid string) {
	waited := o.events.early.Get(uid)
	o.events.early.Delete(uid)
	for _, live := range waited {
		o.observeEventLocked(live)
	}
}
