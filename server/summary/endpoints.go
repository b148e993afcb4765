package summary

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// The Endpoints of a Service are made of the EndpointSlices that targets report of it, as a
// cluster's own controller would: they do not travel. They join what all targets have.

// Bounds and annotations of Endpoints are upstream's.
const (
	maxAddresses  = 1000
	overCapacity  = "endpoints.kubernetes.io/over-capacity"
	managedBy     = "endpoints.kubernetes.io/managed-by"
	sliceService  = "kubernetes.io/service-name"
	sliceManager  = "endpointslice.kubernetes.io/managed-by"
	endpointsMade = "endpoint-controller"
)

// joined reports whether one mirror shows what several targets report.
func joined(k store.Key) bool { return k.Group == "" && k.Resource == "endpoints" }

// wakeEndpointsLocked looks again at the Endpoints of the Services that an EndpointSlice belongs to,
// or belonged to.
func (s *Summary) wakeEndpointsLocked(k store.Key, m *mirrored, want map[string]wanted) {
	if !isSlice(k) {
		return
	}
	owners := map[store.Key]struct{}{m.owner: {}}
	for _, w := range want {
		owners[w.owner] = struct{}{}
	}
	for owner := range owners {
		if owner.Group != "" || owner.Resource != "services" {
			continue
		}
		ek := store.Key{Space: k.Space, Resource: "endpoints", Namespace: k.Namespace, Name: owner.Name}
		em := s.mirrorOfLocked(ek)
		for t := range m.targets {
			em.targets[t]++
		}
		s.addOwnerLocked(ek, em, owner)
		s.queue.Add(ek)
	}
}

// reportedSlice is what Endpoints are made of.
type reportedSlice struct {
	Metadata    struct{ Labels map[string]string }
	AddressType string
	Endpoints   []struct {
		Addresses  []string
		Conditions struct{ Ready *bool }
		Hostname   string
		NodeName   string
		TargetRef  map[string]any
	}
	Ports []map[string]any
}

// wantedEndpoints makes the Endpoints of a Service of what its targets report. Targets that report no
// slice are gone.
func (s *Summary) wantedEndpoints(
	k, service store.Key,
	reporting []string,
	taken bool,
) (want map[string]wanted, gone []string, err error) {
	at, ok := s.cfg.Delivery.Located(service)
	var all []reportedSlice
	var from []string
	if ok && len(at.Targets) <= mirrorTargets {
		if all, from, err = s.slicesOf(at); err != nil {
			return nil, nil, err
		}
	}
	for _, t := range reporting {
		if !slices.Contains(from, t) {
			gone = append(gone, t)
		}
	}
	if len(from) == 0 || taken {
		return nil, gone, nil
	}
	object := endpointsOf(all)
	object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": at.APIVersion, "kind": at.Kind, "name": service.Name, "uid": at.UID, "controller": true,
	}}
	target := placement.Join(from)
	return map[string]wanted{k.Name: {
		name: k.Name, target: target, hash: mirrorHash(target, object), object: object, owner: service, ownerUID: at.UID,
	}}, gone, nil
}

// slicesOf reads the EndpointSlices of a Service, and returns the targets that report one.
func (s *Summary) slicesOf(at placement.Located) (all []reportedSlice, from []string, err error) {
	s.mu.Lock()
	var keys []store.Key
	if o := s.owners[at.Key]; o != nil {
		keys = slices.SortedFunc(maps.Keys(o.pods), func(a, b store.Key) int { return cmp.Compare(a.Name, b.Name) })
	}
	s.mu.Unlock()
	for _, t := range at.Targets {
		for _, k := range keys {
			if !isSlice(k) {
				continue
			}
			r, ok, err := s.report(t, k)
			if err != nil {
				return nil, nil, err
			}
			var object map[string]any
			if !ok || r.OriginUID != at.UID || json.Unmarshal(r.Object, &object) != nil {
				continue
			}
			s.nameEndpoints(k, t, object)
			var slice reportedSlice
			if json.Unmarshal(encode(object), &slice) != nil {
				continue
			}
			all = append(all, slice)
			if !slices.Contains(from, t) {
				from = append(from, t)
			}
		}
	}
	return all, from, nil
}

// endpointsOf joins EndpointSlices to an Endpoints object. Of a Service of two address families it
// has the IPv4 addresses, because Endpoints have one family.
func endpointsOf(all []reportedSlice) map[string]any {
	family := "IPv6"
	if slices.ContainsFunc(all, func(s reportedSlice) bool { return s.AddressType == "IPv4" }) {
		family = "IPv4"
	}
	labels := map[string]any{managedBy: endpointsMade}
	subsets, left, cut := map[string]*subset{}, maxAddresses, false
	for _, ready := range []bool{true, false} { // what is ready has room first
		for _, slice := range all {
			for name, v := range slice.Metadata.Labels {
				if name != sliceService && name != sliceManager {
					labels[name] = v
				}
			}
			if slice.AddressType != family {
				continue
			}
			for _, e := range slice.Endpoints {
				is := e.Conditions.Ready == nil || *e.Conditions.Ready
				if is != ready || len(e.Addresses) == 0 {
					continue
				}
				if left == 0 {
					cut = true
					continue
				}
				left--
				subsetOf(subsets, slice.Ports).add(ready, address(e.Addresses[0], e.Hostname, e.NodeName, e.TargetRef))
			}
		}
	}
	meta := map[string]any{"labels": labels}
	if cut {
		meta["annotations"] = map[string]any{overCapacity: "truncated"}
	}
	out := map[string]any{"metadata": meta}
	list := []any{}
	for _, ports := range slices.Sorted(maps.Keys(subsets)) {
		list = append(list, subsets[ports].object())
	}
	out["subsets"] = list
	return out
}

// subset are the addresses that have the same ports.
type subset struct {
	ports               []any
	addresses, notReady []map[string]any
}

// subsetOf returns the subset of some ports. Those of a slice without a number mean all ports, which
// Endpoints cannot say.
func subsetOf(subsets map[string]*subset, ports []map[string]any) *subset {
	var kept []any
	for _, p := range ports {
		if p["port"] != nil {
			kept = append(kept, p)
		}
	}
	name := string(encode(map[string]any{"ports": kept}))
	if subsets[name] == nil {
		subsets[name] = &subset{ports: kept}
	}
	return subsets[name]
}

func address(ip, hostname, node string, ref map[string]any) map[string]any {
	out := map[string]any{"ip": ip}
	if hostname != "" {
		out["hostname"] = hostname
	}
	if node != "" {
		out["nodeName"] = node
	}
	if ref != nil {
		out["targetRef"] = ref
	}
	return out
}

func (s *subset) add(ready bool, a map[string]any) {
	if ready {
		s.addresses = append(s.addresses, a)
	} else {
		s.notReady = append(s.notReady, a)
	}
}

func (s *subset) object() map[string]any {
	out := map[string]any{}
	for field, list := range map[string][]map[string]any{"addresses": s.addresses, "notReadyAddresses": s.notReady} {
		slices.SortStableFunc(list, func(a, b map[string]any) int {
			return strings.Compare(a["ip"].(string), b["ip"].(string))
		})
		if len(list) > 0 {
			out[field] = list
		}
	}
	if len(s.ports) > 0 {
		out["ports"] = s.ports
	}
	return out
}
