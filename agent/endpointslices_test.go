package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// slice puts an EndpointSlice of a Service on the target, with so many endpoints.
func (s *site) slice(name, service string, endpoints int) {
	o := owned(service)
	meta := o["metadata"].(map[string]any)
	meta["labels"] = map[string]any{"kubernetes.io/service-name": "web"}
	meta["annotations"] = map[string]any{"endpoints.kubernetes.io/last-change-trigger-time": "2026-11-21T10:00:00Z"}
	var list []any
	for i := range endpoints {
		list = append(list, map[string]any{
			"addresses": []any{fmt.Sprintf("10.0.0.%d", i)}, "conditions": map[string]any{"ready": true},
			"hints":     map[string]any{"forZones": []any{map[string]any{"name": "z"}}},
			"targetRef": map[string]any{"kind": "Pod", "namespace": "default", "name": "web-1-a", "uid": "u"},
		})
	}
	o["addressType"], o["endpoints"], o["ports"] = "IPv4", list, []any{map[string]any{"port": 80, "protocol": "TCP"}}
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "default", name, o)
}

func sliceKey(name string) store.Key {
	return store.Key{
		Space: space, Group: "discovery.k8s.io", Resource: "endpointslices", Namespace: "default", Name: name,
	}
}

type reportedSlice struct {
	Kind, AddressType string
	Metadata          struct {
		Labels, Annotations map[string]string
		OwnerReferences     []struct{ Kind, Name, UID string }
	}
	Endpoints []map[string]any
	Ports     []map[string]any
}

func (s *site) sliceReport(name string) (out reportedSlice, ok bool) {
	r := s.report(sliceKey(name))
	if r == nil {
		return out, false
	}
	if err := json.Unmarshal(r.Object, &out); err != nil {
		s.t.Fatal(err)
	}
	return out, true
}

func TestEndpointSlicesOfPlacedServicesAreReportedAndOthersAreNot(t *testing.T) {
	inBubble(t, endpointSlicesOfPlacedServicesAreReportedAndOthersAreNot)
}

func endpointSlicesOfPlacedServicesAreReportedAndOthersAreNot(t *testing.T) {
	s := newSite(t)
	web := live("", "services", "v1", "Service", "default", "web", map[string]any{"spec": map[string]any{}})
	s.desire(web)
	s.settled()
	<-s.observer.Ready()
	s.slice("foreign-1", s.api.Put("v1", "Service", "default", "foreign", nil), 1)
	s.slice("web-1", s.uid("", "services", "default", "web"), 1)
	eventually(t, "the slice is reported", func() bool { _, ok := s.sliceReport("web-1"); return ok })
	got, _ := s.sliceReport("web-1")
	owners := got.Metadata.OwnerReferences
	if got.Kind != "EndpointSlice" || got.AddressType != "IPv4" || len(got.Ports) != 1 || len(owners) != 1 ||
		owners[0].Kind != "Service" || owners[0].UID != "source-services-web" ||
		got.Metadata.Labels["kubernetes.io/service-name"] != "web" || len(got.Metadata.Annotations) != 0 {
		t.Errorf("reported as %+v", got)
	}
	e := got.Endpoints[0]
	ref, _ := e["targetRef"].(map[string]any)
	if e["hints"] != nil || ref["name"] != "web-1-a" || ref["namespace"] != "default" || ref["uid"] != nil {
		t.Errorf("endpoint reported as %v", e)
	}
	if _, ok := s.sliceReport("foreign-1"); ok {
		t.Error("a slice of a foreign Service is reported")
	}
	s.api.Remove("discovery.k8s.io", "endpointslices", "default", "web-1")
	eventually(t, "the slice is gone", func() bool { _, ok := s.sliceReport("web-1"); return !ok })
}

func TestEndpointSlicesBeyondTheLimitAreLeftOutInWords(t *testing.T) {
	inBubble(t, endpointSlicesBeyondTheLimitAreLeftOutInWords)
}

func endpointSlicesBeyondTheLimitAreLeftOutInWords(t *testing.T) {
	s := newSite(t)
	s.desire(live("", "services", "v1", "Service", "default", "web", map[string]any{"spec": map[string]any{}}))
	s.settled()
	<-s.observer.Ready()
	uid := s.uid("", "services", "default", "web")
	shown := func() (names []string, marked int) {
		for i := range 13 {
			name := fmt.Sprintf("web-%d", i)
			if got, ok := s.sliceReport(name); ok {
				names = append(names, name)
				if strings.Contains(got.Metadata.Annotations[store.SlicesTruncated], "more slices") {
					marked++
				}
			}
		}
		return names, marked
	}
	for i := range 12 {
		s.slice(fmt.Sprintf("web-%d", i), uid, 1)
	}
	eventually(t, "ten are reported, and say that there are more", func() bool {
		names, marked := shown()
		return len(names) == 10 && marked == 10
	})
	first, _ := shown()
	s.api.Remove("discovery.k8s.io", "endpointslices", "default", first[0])
	eventually(t, "another one takes its place", func() bool {
		names, marked := shown()
		return len(names) == 10 && marked == 10 && names[0] != first[0]
	})
	names, _ := shown()
	s.api.Remove("discovery.k8s.io", "endpointslices", "default", names[0])
	eventually(t, "all that is left is reported", func() bool {
		names, marked := shown()
		return len(names) == 10 && marked == 0
	})
	s.slice("web-12", uid, 130)
	s.api.Remove("discovery.k8s.io", "endpointslices", "default", names[1])
	eventually(t, "a long slice is cut", func() bool {
		got, ok := s.sliceReport("web-12")
		return ok && len(got.Endpoints) == 100 &&
			strings.Contains(got.Metadata.Annotations[store.SlicesTruncated], "130 endpoints")
	})
}
