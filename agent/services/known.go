package services

import (
	"encoding/json"

	"skerry.dev/skerry/agent/target"
)

// What the site's cluster has of Pods and of the Namespaces of spaces, as far as callers are judged by it.

// owner is whose a Namespace is.
type owner struct{ space, uid string }

// pod is a Pod with an address of its own that has not ended.
type pod struct{ namespace, name string }

func ownerOf(o *target.Object) owner {
	return owner{o.OriginSpace(), o.Metadata.Annotations[target.AnnotationSpaceUID]}
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
	clear(s.owners)
	for _, o := range found {
		s.owners[o.Metadata.Name] = ownerOf(o)
	}
	s.newcomers.tell()
}

func (s *Services) oneNamespace(kind target.EventType, o *target.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners[o.Metadata.Name] = ownerOf(o); kind == target.Deleted {
		delete(s.owners, o.Metadata.Name)
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
	clear(s.addresses)
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
	p, at := pod{o.Metadata.Namespace, o.Metadata.Name}, addressOf(o)
	if was := s.addresses[p]; was != "" && (was != at || kind == target.Deleted) {
		delete(s.addresses, p)
		if delete(s.pods[was], p); len(s.pods[was]) == 0 {
			delete(s.pods, was)
		}
	}
	if at == "" || kind == target.Deleted {
		return
	}
	s.addresses[p] = at
	if s.pods[at] == nil {
		s.pods[at] = map[pod]struct{}{}
	}
	s.pods[at][p] = struct{}{}
	s.newcomers.tell()
}

// knows reports whether an address is known to be that of Pods of a space alone.
func (s *Services) knows(of callee, at string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.pods[at] {
		if s.owners[p.namespace] != (owner{of.key.Space, of.spaceUID}) {
			return false
		}
	}
	return len(s.pods[at]) > 0
}
