package services

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/ondemand"
)

var (
	services       = target.Resource{Version: "v1", Plural: "services"}
	endpointSlices = target.Resource{Group: "discovery.k8s.io", Version: "v1", Plural: "endpointslices"}
)

// serviceName is the label of a slice that names its Service.
const serviceName = "kubernetes.io/service-name"

// watchLimit is how long one watch lasts.
const watchLimit = 8 * time.Minute

// delivered lists what carries the label of delivered objects. A cluster's own slices of a Service have the
// labels of the Service.
func delivered(r target.Resource) target.Listing {
	return target.Listing{Resource: r, LabelSelector: target.LabelSite}
}

// reaches reports whether a delivered Service is to answer wherever its space runs Pods.
func reaches(o *target.Object) bool {
	return o.Metadata.Annotations[target.AnnotationReach] == target.ReachSpace && o.OriginUID() != ""
}

// follow tells of all objects of a kind, and then of each change, until ctx ends. It says once when the first
// list is complete. Where lost is given it is told when changes may be missed, and all objects are listed again.
func (s *Services) follow(
	ctx context.Context,
	l target.Listing,
	all func([]*target.Object),
	one func(target.EventType, *target.Object),
	lost func(),
	listed chan<- struct{},
) {
	from, wait, first := "", retryFirst, true
	for ctx.Err() == nil {
		var err error
		began := time.Now()
		if from == "" {
			var found []*target.Object
			from, err = s.client.List(ctx, l, func(o *target.Object) error {
				found = append(found, o)
				return nil
			})
			if err == nil {
				if all(found); first {
					first = false
					listed <- struct{}{}
				}
			}
		} else {
			from, err = s.client.Watch(ctx, l, from, watchLimit, one)
		}
		switch {
		case errors.Is(err, target.ErrExpired):
			from = ""
		case err == nil || time.Since(began) > lookEvery:
			wait = retryFirst
		}
		if err != nil && lost != nil {
			lost()
			from = ""
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Debug("cannot watch", "resource", l.Resource, "err", err)
			ondemand.Pause(ctx, wait)
			wait = min(2*wait, lookEvery)
		}
	}
}

func nameOf(o *target.Object) name { return name{o.Metadata.Namespace, o.Metadata.Name} }

func (s *Services) allServices(found []*target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.known {
		s.touchLocked(n)
	}
	clear(s.known)
	clear(s.members)
	for _, o := range found {
		s.knowLocked(o)
	}
}

func (s *Services) oneService(kind target.EventType, o *target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == target.Deleted {
		delete(s.known, nameOf(o))
		delete(s.members, nameOf(o))
		s.touchLocked(nameOf(o))
		return
	}
	s.knowLocked(o)
}

// knowLocked takes over a Service. Others than those that reach their space are not kept. s.mu must be held.
func (s *Services) knowLocked(o *target.Object) {
	n := nameOf(o)
	delete(s.members, n)
	if reaches(o) {
		if s.known[n] = o; o.Metadata.Annotations[target.AnnotationMembers] != "" {
			s.members[n] = membersOf(o)
		}
	} else if s.known[n] == nil && s.entries[n] == nil {
		return
	} else {
		delete(s.known, n)
	}
	s.touchLocked(n)
}

func (s *Services) allSlices(found []*target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.slices {
		s.touchLocked(n)
	}
	clear(s.slices)
	for _, o := range found {
		s.sliceLocked(o, false)
	}
}

func (s *Services) oneSlice(kind target.EventType, o *target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sliceLocked(o, kind == target.Deleted)
}

// sliceLocked takes over a slice. s.mu must be held.
func (s *Services) sliceLocked(o *target.Object, gone bool) {
	of := name{o.Metadata.Namespace, o.Metadata.Labels[serviceName]}
	if of.service == "" || target.IsGatewayObject(o) {
		return
	}
	set, ready := s.slices[of], !gone && answersIn(o)
	if set == nil {
		set = map[string]bool{}
		s.slices[of] = set
	}
	if is, known := set[o.Metadata.Name]; known == !gone && is == ready {
		return
	}
	if set[o.Metadata.Name] = ready; gone {
		delete(set, o.Metadata.Name)
	}
	if len(set) == 0 {
		delete(s.slices, of)
	}
	if s.known[of] != nil {
		s.touchLocked(of)
	}
}

// headlessSlice is a label that a cluster gives the slices of a headless Service.
const headlessSlice = "service.kubernetes.io/headless"

// answersIn reports whether a slice says that the Service is answered here. The name of a headless one leads to its
// Pods here as soon as there are any: they may be about to find one another, and must not meet those of another site.
func answersIn(o *target.Object) bool {
	if _, is := o.Metadata.Labels[headlessSlice]; is {
		var endpoints []json.RawMessage
		return json.Unmarshal(o.Endpoints, &endpoints) != nil || len(endpoints) > 0
	}
	return anyReady(o)
}

// anyReady reports whether any endpoint of a slice is ready. Of one that cannot be understood some may be.
func anyReady(o *target.Object) bool {
	var endpoints []struct {
		Conditions struct{ Ready *bool }
	}
	if json.Unmarshal(o.Endpoints, &endpoints) != nil {
		return len(o.Endpoints) > 0
	}
	for _, e := range endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			return true
		}
	}
	return false
}
