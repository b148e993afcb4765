package summary

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

var webService, webEndpoints = key("", "services", "web"), key("", "endpoints", "web")

func sliceKey(name string) store.Key { return key("discovery.k8s.io", "endpointslices", name) }

// sliceReport is an EndpointSlice of the Service web. Each endpoint is ADDRESS or ADDRESS=POD; a "!"
// before it means that it is not ready.
func sliceReport(endpoints ...string) *store.Report {
	list := []any{}
	for _, text := range endpoints {
		text, down := strings.CutPrefix(text, "!")
		ip, pod, has := strings.Cut(text, "=")
		e := map[string]any{"addresses": []any{ip}, "conditions": map[string]any{"ready": !down}, "nodeName": "n1"}
		if has {
			e["targetRef"] = map[string]any{"kind": "Pod", "namespace": "app", "name": pod}
		}
		list = append(list, e)
	}
	object, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"labels": map[string]any{"kubernetes.io/service-name": "web", "app": "web"},
			"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "uid-web", "controller": true,
			}},
		},
		"addressType": "IPv4", "endpoints": list,
		"ports": []any{map[string]any{"name": "http", "port": 80, "protocol": "TCP"}},
	})
	return &store.Report{OriginUID: "uid-web", Object: object}
}

// primed tells the Summary that it has seen everything.
func (c *center) primed() { c.s.Reset(0, storetest.Listing(func(func(store.Write) bool) {})) }

// shows is an Endpoints object as text: what is ready, then what is not.
func (c *center) shows(k store.Key) string {
	o, err := c.Get(c.t.Context(), k, "")
	if err != nil {
		return "none"
	}
	var out []string
	for s := range fields.Maps(o, "subsets") {
		for _, list := range []string{"addresses", "notReadyAddresses"} {
			for a := range fields.Maps(s, list) {
				text := a["ip"].(string)
				if pod := fields.String(a, "targetRef", "name"); pod != "" {
					text += "=" + pod
				}
				out = append(out, strings.TrimPrefix(list, "addresses")+text)
			}
		}
	}
	return strings.Join(out, " ")
}

func TestEndpointsJoinTheSlicesOfAllTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.primed()
		c.place(webService, "v1", "Service", "a", "b")
		slice := sliceKey("web-1")
		c.says("a", slice, sliceReport("10.0.0.1", "!10.0.0.2"))
		c.eventually("of one target", func() bool { return c.shows(webEndpoints) == "10.0.0.1 notReadyAddresses10.0.0.2" })
		c.says("b", slice, sliceReport("10.9.0.1"))
		c.eventually("of both", func() bool {
			return c.shows(webEndpoints) == "10.0.0.1 10.9.0.1 notReadyAddresses10.0.0.2" && c.from(webEndpoints) == "a,b"
		})
		c.eventually("a slice of each", func() bool { return c.from(slice) == "a" && c.from(sliceKey("web-1.b")) == "b" })
		o, _ := c.Get(t.Context(), slice, "")
		if o["addressType"] != "IPv4" || len(fields.List(o, "endpoints")) != 2 || len(fields.List(o, "ports")) != 1 {
			t.Errorf("mirrored as %v", o)
		}
		e, _ := c.Get(t.Context(), webEndpoints, "")
		labels := fields.Map(e, "metadata", "labels")
		owner, _ := fields.List(e, "metadata", "ownerReferences")[0].(map[string]any)
		if owner["uid"] != "uid-web" || labels["app"] != "web" || labels[sliceService] != nil {
			t.Errorf("endpoints %v", e)
		}
		uid := fields.String(e, "metadata", "uid")
		c.says("a", slice, sliceReport())
		c.says("b", slice, sliceReport())
		c.eventually("without any", func() bool { return c.shows(webEndpoints) == "" })
		if e, _ = c.Get(t.Context(), webEndpoints, ""); fields.String(e, "metadata", "uid") != uid {
			t.Error("the Endpoints were made anew")
		}
		c.says("a", slice, nil)
		c.says("b", slice, nil)
		c.eventually("gone", func() bool {
			return !c.exists(webEndpoints) && !c.exists(slice) && !c.exists(sliceKey("web-1.b"))
		})
		c.stop()
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if n := len(c.s.mirrors) + len(c.s.names) + len(c.s.owners) + len(c.s.slices); n != 0 {
			t.Errorf("%d things are left in memory", n)
		}
	})
}

func TestEndpointsNameThePodsAsTheSpaceDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.primed()
		c.place(web, "apps/v1", "Deployment", "a", "b")
		c.place(webService, "v1", "Service", "a", "b")
		pod := key("", "pods", "web-0")
		c.says("b", sliceKey("web-1"), sliceReport("10.9.0.1=web-0"))
		c.says("b", pod, podReport("Running"))
		c.eventually("alone it has the plain name", func() bool { return c.shows(webEndpoints) == "10.9.0.1=web-0" })
		c.says("a", pod, podReport("Running"))
		c.says("a", sliceKey("web-2"), sliceReport("10.0.0.1=web-0"))
		c.eventually("each has the name of its mirror", func() bool {
			return c.shows(webEndpoints) == "10.0.0.1=web-0 10.9.0.1=web-0.b"
		})
		c.eventually("so has the slice", func() bool {
			o, _ := c.Get(t.Context(), sliceKey("web-1"), "")
			e, _ := fields.List(o, "endpoints")[0].(map[string]any)
			return fields.String(e, "targetRef", "name") == "web-0.b"
		})
	})
}

func TestSlicesOfAnotherServiceOrSpaceShowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.primed()
		c.place(webService, "v1", "Service", "a")
		other := sliceReport("10.0.0.66")
		other.OriginUID = "uid-of-an-earlier-one"
		c.says("a", sliceKey("web-old"), other)
		bank := sliceKey("web-1")
		bank.Space = "bank"
		c.says("a", bank, sliceReport("10.0.0.99"))
		c.says("b", sliceKey("web-b"), sliceReport("10.0.0.77")) // it is not placed there
		c.says("a", sliceKey("web-1"), sliceReport("10.0.0.1"))
		c.eventually("its own", func() bool { return c.shows(webEndpoints) == "10.0.0.1" })
		c.says("a", sliceKey("web-1"), other)
		c.eventually("not those of an earlier Service", func() bool {
			return !c.exists(webEndpoints) && !c.exists(sliceKey("web-1"))
		})
		c.stop()
		if c.exists(bank) || c.exists(sliceKey("web-old")) || c.exists(sliceKey("web-b")) {
			t.Error("a slice of something else is mirrored")
		}
	})
}

func TestEndpointsOfAUserAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.primed()
		c.place(webService, "v1", "Service", "a")
		c.mu.Lock()
		c.commit(webEndpoints, map[string]any{"apiVersion": "v1", "kind": "Endpoints", "metadata": map[string]any{
			"name": "web", "uid": "uid-theirs"}, "subsets": []any{}})
		c.mu.Unlock()
		c.says("a", sliceKey("web-1"), sliceReport("10.0.0.1"))
		c.eventually("the slice is mirrored", func() bool { return c.exists(sliceKey("web-1")) })
		c.says("a", sliceKey("web-2"), sliceReport("10.0.0.2"))
		c.eventually("the second slice is mirrored", func() bool { return c.exists(sliceKey("web-2")) })
		if c.shows(webEndpoints) != "" || c.from(webEndpoints) != "" {
			t.Errorf("they show %q from %q", c.shows(webEndpoints), c.from(webEndpoints))
		}
		c.mu.Lock()
		c.commit(webEndpoints, nil)
		c.mu.Unlock()
		c.eventually("once they are gone the center makes its own", func() bool {
			return c.shows(webEndpoints) == "10.0.0.1 10.0.0.2"
		})
	})
}

func TestEndpointsStayOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.primed()
		c.place(webService, "v1", "Service", "a")
		c.says("a", sliceKey("web-1"), sliceReport("10.0.0.1"))
		c.eventually("shown", func() bool { return c.shows(webEndpoints) == "10.0.0.1" })
		c.stop()
		e, _ := c.Get(t.Context(), webEndpoints, "")
		before := fields.String(e, "metadata", "uid")
		next := newCenter(t)
		next.revision, next.objects, next.reports, next.placed = c.revision, c.objects, c.reports, c.placed
		write := func(k store.Key) store.Write {
			return store.Write{Key: k, Revision: c.revision, APIVersion: "v1", Object: next.objects[k]}
		}
		next.s.Apply(write(webEndpoints)) // seen before its slices
		next.eventually("it is looked at", func() bool { return next.s.queue.Len() == 0 })
		next.s.Reset(next.revision, storetest.Listing(func(yield func(store.Write) bool) {
			for _, k := range []store.Key{webEndpoints, sliceKey("web-1"), webService} {
				if !yield(write(k)) {
					return
				}
			}
		}))
		next.says("a", sliceKey("web-1"), sliceReport("10.0.0.1", "10.0.0.2"))
		next.eventually("the next change, of the slice too", func() bool {
			return next.shows(webEndpoints) == "10.0.0.1 10.0.0.2" && next.count() >= 2
		})
		o, _ := next.Get(t.Context(), webEndpoints, "")
		if fields.String(o, "metadata", "uid") != before || next.count() != 2 {
			t.Errorf("made anew %v, %d writes", fields.String(o, "metadata", "uid") != before, next.count())
		}
	})
}

func TestEndpointsAreCutAtAThousandReadyFirst(t *testing.T) {
	var all []reportedSlice
	for i := range 11 {
		var endpoints []string
		for j := range 100 {
			text := fmt.Sprintf("10.0.%d.%d", i, j)
			if i == 0 {
				text = "!" + text
			}
			endpoints = append(endpoints, text)
		}
		var slice reportedSlice
		if err := json.Unmarshal(sliceReport(endpoints...).Object, &slice); err != nil {
			t.Fatal(err)
		}
		all = append(all, slice)
	}
	o := endpointsOf(all)
	subset, _ := fields.List(o, "subsets")[0].(map[string]any)
	if fields.String(o, "metadata", "annotations", overCapacity) != "truncated" || subset["notReadyAddresses"] != nil ||
		len(subset["addresses"].([]map[string]any)) != 1000 {
		t.Errorf("%v", fields.Map(o, "metadata"))
	}
}
