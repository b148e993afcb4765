package observe

import (
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/store"
)

// Bounds of what is reported of the addresses behind one Service. Kubernetes itself writes at most
// 100 endpoints into a slice, and shows 1000 in an Endpoints object.
const (
	slicesOfOne       = 10
	endpointsOfSlice  = 100
	addressesOfOne    = 10
	portsOfSlice      = 100
	lastChangeTrigger = "endpoints.kubernetes.io/last-change-trigger-time"
)

// endpointSlices says which EndpointSlices of a Service are reported, and which are not because
// there are too many.
type endpointSlices struct {
	of map[store.Key]*sliceSet
	by map[string]*sliceSet // by the UID of each slice
}

// sliceSet are the EndpointSlices of one Service by UID.
type sliceSet struct {
	owner          store.Key
	shown, surplus map[string]place
}

func newEndpointSlices() endpointSlices {
	return endpointSlices{map[store.Key]*sliceSet{}, map[string]*sliceSet{}}
}

// setOf returns the slices of a Service, making the set when there is none.
func (s endpointSlices) setOf(owner store.Key) *sliceSet {
	set := s.of[owner]
	if set == nil {
		set = &sliceSet{owner: owner, shown: map[string]place{}, surplus: map[string]place{}}
		s.of[owner] = set
	}
	return set
}

// surplusIn returns the UIDs of the EndpointSlices of one watch that are not reported.
func (s endpointSlices) surplusIn(w watchKey) (uids []string) {
	if w.resource != sliceResource {
		return nil
	}
	for _, set := range s.of {
		for uid, at := range set.surplus {
			if at.watch == w {
				uids = append(uids, uid)
			}
		}
	}
	return uids
}

// forget drops what is known of a Service that is gone.
func (s endpointSlices) forget(owner store.Key) {
	set := s.of[owner]
	if set == nil {
		return
	}
	for uid := range set.shown {
		delete(s.by, uid)
	}
	for uid := range set.surplus {
		delete(s.by, uid)
	}
	delete(s.of, owner)
}

// truncated reports whether a Service has more EndpointSlices than are reported.
func (s endpointSlices) truncated(owner store.Key) bool {
	set := s.of[owner]
	return set != nil && len(set.surplus) > 0
}

// admitSliceLocked reports whether an EndpointSlice is among those that are reported of its Service.
// With the first that is not, the others are read again: they say that there are more. o.mu must be
// held.
func (o *Observer) admitSliceLocked(owner store.Key, uid string, at place) bool {
	set := o.slices.setOf(owner)
	o.slices.by[uid] = set
	if _, ok := set.shown[uid]; ok || len(set.shown) < slicesOfOne {
		_, waited := set.surplus[uid]
		delete(set.surplus, uid)
		set.shown[uid] = at
		if waited && len(set.surplus) == 0 {
			o.refetchSlicesLocked(set)
		}
		return true
	}
	set.surplus[uid] = at
	if len(set.surplus) == 1 {
		o.refetchSlicesLocked(set)
	}
	return false
}

// sliceGoneLocked records that an EndpointSlice is no longer on the target. One that was not
// reported takes its place. o.mu must be held.
func (o *Observer) sliceGoneLocked(uid string) {
	set := o.slices.by[uid]
	if set == nil {
		return
	}
	delete(o.slices.by, uid)
	_, shown := set.shown[uid]
	delete(set.shown, uid)
	delete(set.surplus, uid)
	switch {
	case len(set.shown)+len(set.surplus) == 0:
		delete(o.slices.of, set.owner)
	case shown:
		for _, at := range set.surplus {
			o.fetch.add(at)
			break
		}
	case len(set.surplus) == 0:
		o.refetchSlicesLocked(set)
	}
}

// refetchSlicesLocked reads again what is reported, because the annotation that counts the others
// changes.
func (o *Observer) refetchSlicesLocked(set *sliceSet) {
	for uid, at := range set.shown {
		if rec := o.associated.Get(uid); rec != nil {
			rec.revision = 0
		}
		o.fetch.add(at)
	}
}

// endpoint is what is reported of one endpoint of a slice. UIDs of Pods mean nothing in the space,
// and hints are for the network of the target.
type endpoint struct {
	Addresses  []string        `json:"addresses"`
	Conditions json.RawMessage `json:"conditions,omitempty"`
	Hostname   string          `json:"hostname,omitempty"`
	NodeName   string          `json:"nodeName,omitempty"`
	Zone       string          `json:"zone,omitempty"`
	TargetRef  *targetRef      `json:"targetRef,omitempty"`
}

type targetRef struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// reportedSlice cuts an EndpointSlice to what is reported of it, and says so where something is left
// out.
func reportedSlice(out *reported, more bool) error {
	var endpoints []endpoint
	var ports []json.RawMessage
	if err := decodeList(out.Endpoints, &endpoints); err != nil {
		return fmt.Errorf("decode endpoints: %w", err)
	}
	if err := decodeList(out.Ports, &ports); err != nil {
		return fmt.Errorf("decode ports: %w", err)
	}
	had := len(endpoints)
	endpoints = endpoints[:min(had, endpointsOfSlice)]
	for i := range endpoints {
		e := &endpoints[i]
		e.Addresses = e.Addresses[:min(len(e.Addresses), addressesOfOne)]
	}
	ports = ports[:min(len(ports), portsOfSlice)]
	delete(out.Metadata.Annotations, lastChangeTrigger)
	if message := cutMessage(had, more); message != "" {
		out.Metadata.Annotations = setAnnotation(out.Metadata.Annotations, store.SlicesTruncated, message)
	}
	var err error
	if out.Endpoints, err = json.Marshal(endpoints); err != nil {
		return fmt.Errorf("encode endpoints: %w", err)
	}
	if out.Ports, err = json.Marshal(ports); err != nil {
		return fmt.Errorf("encode ports: %w", err)
	}
	return nil
}

func decodeList[T any](from json.RawMessage, to *[]T) error {
	*to = []T{}
	if len(from) == 0 || string(from) == "null" {
		return nil
	}
	return json.Unmarshal(from, to)
}

// cutMessage says what is left out; it is empty where nothing is.
func cutMessage(endpoints int, more bool) string {
	switch {
	case endpoints > endpointsOfSlice && more:
		return fmt.Sprintf("the site has %d endpoints in this slice, of which %d are reported, "+
			"and more slices of this Service than the %d that are reported", endpoints, endpointsOfSlice, slicesOfOne)
	case endpoints > endpointsOfSlice:
		return fmt.Sprintf(
			"the site has %d endpoints in this slice, of which %d are reported", endpoints, endpointsOfSlice)
	case more:
		return fmt.Sprintf("the site has more slices of this Service than the %d that are reported", slicesOfOne)
	}
	return ""
}
