package services

import (
	"slices"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upward"
)

// parent is the target of the place that is the parent of a relay.
const parent = ".."

// parentOf is the parent as the place where a Service may answer that has a UID there.
func parentOf(k store.Key, call upward.ServiceCall, uid string) place {
	call.UID = uid
	return place{answering{k: k, call: call}, parent}
}

// turns puts places, the nearest first and the parent last, in the order in which they are asked. A caller that is kept
// to one of them asks that first. The parent hears whether the targets of this relay have been asked before. A target
// that has asked its own already comes last: there are no Pods of it but those.
func (s *Services) turns(target string, places []place, is keeping, own bool) []place {
	s.back(is, places)
	if n := len(places); n > 0 && places[n-1].target == parent {
		places[n-1].call.Own = true
	}
	at := func(p place) bool { return own && p.target == target }
	last := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !at(p) })
	return append(slices.DeleteFunc(places, at), last...)
}
