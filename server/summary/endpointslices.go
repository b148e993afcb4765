package summary

import (
	"maps"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// sliceIndex has the reported EndpointSlices by namespace. A slice names the Pods behind a Service as
// its target calls them; in the space one of two Pods of equal names has another (see wanted). The
// slices of the namespace are rendered again when that changes.
type sliceIndex map[namespace]map[store.Key]struct{}

type namespace struct{ space, name string }

func isSlice(k store.Key) bool {
	return k.Group == "discovery.k8s.io" && k.Resource == "endpointslices"
}

func (x sliceIndex) add(k store.Key) {
	if !isSlice(k) {
		return
	}
	at := namespace{k.Space, k.Namespace}
	if x[at] == nil {
		x[at] = map[store.Key]struct{}{}
	}
	x[at][k] = struct{}{}
}

func (x sliceIndex) remove(k store.Key) {
	at := namespace{k.Space, k.Namespace}
	if delete(x[at], k); len(x[at]) == 0 {
		delete(x, at)
	}
}

// wakeSlicesLocked renders the EndpointSlices of a namespace again when a Pod there has, or had,
// another name than at its target.
func (s *Summary) wakeSlicesLocked(k store.Key, before, now map[string]mirror) {
	if k.Group != "" || k.Resource != "pods" {
		return
	}
	if maps.Equal(renamed(k, before), renamed(k, now)) {
		return
	}
	for slice := range s.slices[namespace{k.Space, k.Namespace}] {
		s.queue.Add(slice)
	}
}

// renamed returns the names, with their targets, of mirrors that are called otherwise at their
// target; nil when there are none.
func renamed(k store.Key, mirrors map[string]mirror) (out map[string]string) {
	for name, o := range mirrors {
		if name != k.Name {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = o.target
		}
	}
	return out
}

// nameEndpoints puts the names that Pods have in the space into an EndpointSlice of a target.
func (s *Summary) nameEndpoints(k store.Key, target string, object map[string]any) {
	if !isSlice(k) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range fields.Maps(object, "endpoints") {
		ref := fields.Map(e, "targetRef")
		if fields.String(ref, "kind") != "Pod" || fields.String(ref, "namespace") != k.Namespace {
			continue
		}
		pod := store.Key{Space: k.Space, Resource: "pods", Namespace: k.Namespace, Name: fields.String(ref, "name")}
		if m := s.mirrors[pod]; m != nil {
			for name, o := range m.objects {
				if o.target == target {
					ref["name"] = name
				}
			}
		}
	}
}

// serviceOf returns the Service whose addresses a mirror shows; false for other mirrors.
func serviceOf(k store.Key, object map[string]any) (store.Key, bool) {
	if !isSlice(k) && !joined(k) {
		return store.Key{}, false
	}
	for ref := range fields.Maps(object, "metadata", "ownerReferences") {
		if fields.String(ref, "kind") == "Service" && fields.String(ref, "apiVersion") == "v1" {
			return store.Key{
				Space: k.Space, Resource: "services", Namespace: k.Namespace, Name: fields.String(ref, "name"),
			}, true
		}
	}
	return store.Key{}, false
}
