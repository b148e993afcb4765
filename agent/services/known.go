package services

import (
	"encoding/json"
	"maps"
	"net/netip"
	"strings"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// What the site's cluster has of Pods and of Namespaces, as far as callers are judged by it.

// owner is whose a Namespace is.
type owner struct{ space, uid string }

// pod names a Pod.
type pod struct{ namespace, name string }

func ownerOf(o *target.Object) owner {
	return owner{o.OriginSpace(), o.Metadata.Annotations[target.AnnotationSpaceUID]}
}

// home is a Namespace that Pods call from: of a space, or the site's own.
type home struct {
	owner
	own    bool   // it is the site's: of no space
	name   string // in the space
	labels map[string]string
}

func homeOf(o *target.Object) home {
	is := home{owner: ownerOf(o), labels: maps.Clone(o.Metadata.Labels)}
	is.own = is.owner == owner{} && o.Metadata.Labels[target.LabelSite] == ""
	is.name, _ = o.Mapping().Here(o.Metadata.Name)
	maps.DeleteFunc(is.labels, func(key, _ string) bool { return strings.HasPrefix(key, target.KeyPrefix) })
	if is.labels[target.LabelNamespaceName] != "" {
		is.labels[target.LabelNamespaceName] = is.name
	}
	return is
}

// resident is a Pod with an address of its own that has not ended.
type resident struct {
	address string
	labels  map[string]string
	leaving bool // it is being deleted
}

func residentOf(o *target.Object) resident {
	return resident{addressOf(o), o.Metadata.Labels, o.Metadata.DeletionTimestamp != ""}
}

// callerOf is what other sites are told of a Pod that calls.
func callerOf(at home, is resident) string {
	address, err := netip.ParseAddr(is.address)
	if err != nil {
		return ""
	}
	return exchange.Caller{Namespace: at.name, NamespaceLabels: at.labels, Labels: is.labels, Address: address,
		OfSite: at.own}.Encode()
}

// candidate is a Pod in its Namespace.
type candidate struct {
	home
	resident
}

// candidates are the Pods that have the address of a caller: it may pass to a new one before the old one has gone.
type candidates struct {
	staying, leaving []candidate
}

func (c *candidates) add(at home, is resident) {
	if is.leaving {
		c.leaving = append(c.leaving, candidate{at, is})
	} else {
		c.staying = append(c.staying, candidate{at, is})
	}
}

// addForeign adds a Pod of another space, whose Service knows nothing of it but its address.
func (c *candidates) addForeign(is resident) {
	is.labels = nil
	c.add(home{}, is)
}

// caller is what other sites are told of the one that calls, empty where it cannot be told which one that is.
func (c *candidates) caller() string {
	switch {
	case len(c.staying) == 1:
		return callerOf(c.staying[0].home, c.staying[0].resident)
	case len(c.staying) == 0 && len(c.leaving) == 1:
		return callerOf(c.leaving[0].home, c.leaving[0].resident)
	}
	return ""
}

// addressOf is the address of a Pod, empty where it has none of its own, or has ended.
func addressOf(o *target.Object) string {
	var spec struct{ HostNetwork bool }
	var status struct{ Phase, PodIP string }
	if json.Unmarshal(o.Spec, &spec) != nil || json.Unmarshal(o.Status, &status) != nil || spec.HostNetwork ||
		status.Phase == "Succeeded" || status.Phase == "Failed" {
		return ""
	}
	return status.PodIP
}

func (s *Services) allNamespaces(found []*target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.homes)
	for _, o := range found {
		s.homes[o.Metadata.Name] = homeOf(o)
	}
	s.newcomers.tell()
}

func (s *Services) oneNamespace(kind target.EventType, o *target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.homes[o.Metadata.Name] = homeOf(o); kind == target.Deleted {
		delete(s.homes, o.Metadata.Name)
	}
	s.newcomers.tell()
}

// forgetNamespaces is for when it is not told any more whose Namespaces are.
func (s *Services) forgetNamespaces() { s.allNamespaces(nil) }

// forgetPods is for when it is not told any more who has which address: the cluster may give one to another
// Pod meanwhile.
func (s *Services) forgetPods() { s.allPods(nil) }

func (s *Services) allPods(found []*target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.residents)
	clear(s.pods)
	for _, o := range found {
		s.podLocked(target.Added, o)
	}
}

func (s *Services) onePod(kind target.EventType, o *target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podLocked(kind, o)
}

// podLocked takes over a Pod. An address may pass to a new Pod before the old one is known to have gone. s.mu must
// be held.
func (s *Services) podLocked(kind target.EventType, o *target.Object) {
	p, is := pod{o.Metadata.Namespace, o.Metadata.Name}, residentOf(o)
	if was := s.residents[p].address; was != "" && (was != is.address || kind == target.Deleted) {
		delete(s.residents, p)
		if delete(s.pods[was], p); len(s.pods[was]) == 0 {
			delete(s.pods, was)
		}
	}
	if is.address == "" || kind == target.Deleted {
		return
	}
	s.residents[p] = is
	if s.pods[is.address] == nil {
		s.pods[is.address] = map[pod]struct{}{}
	}
	s.pods[is.address][p] = struct{}{}
	s.newcomers.tell()
}

// sight is what is known here of an address from which a Service is called.
type sight struct {
	service *target.Object // nil where it is not known
	pods    bool           // there are Pods that have the address
	lets    bool           // the space of each may call the Service
	own     bool           // each is the site's own: of no space
	among   candidates     // they, of use where all may call or are the site's own
}

// sightOf is what is known at one moment.
func sightOf(s *Services, of callee, at string) sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := len(s.pods[at]) > 0
	seen := sight{service: s.known[of.at], pods: some, lets: some, own: some}
	for p := range s.pods[at] {
		from, is := s.homes[p.namespace], s.residents[p]
		whose := callsLocked(s, of, from.owner)
		seen.lets = seen.lets && whose != theirs
		seen.own = seen.own && from.own
		if whose == members {
			seen.among.addForeign(is)
		} else {
			seen.among.add(from, is)
		}
	}
	return seen
}
