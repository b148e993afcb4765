package delivery

import (
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// tellNoEffect makes an Event of an object that was written and does nothing. Equal Events are
// counted; a snapshot makes none.
func (s *step) tellNoEffect(w store.Write, r reading) {
	if s.bulk || r.leaving {
		return
	}
	if reason, message := placement.NoEffect(w.Key, w.Object, s.d.opens(w.Key)); message != "" {
		s.d.cfg.Event(placement.Event{Key: w.Key, APIVersion: w.APIVersion, Kind: w.Kind, UID: r.uid,
			Warning: true, Reason: reason, Message: message})
	}
}
