package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// talkative is a cluster with Pods one and strange, Deployment app and ReplicaSet one in each
// namespace. The UID of each is "u-" with its name. It has events about each, whatever is selected.
type talkative struct {
	*cluster
	marks map[string]string // annotations of the objects
	many  int               // further events about what is asked for
}

func (c *talkative) answer(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	i := slices.Index(parts, "namespaces")
	if len(parts) < i+3 {
		return false
	}
	c.mu.Lock()
	c.asked = append(c.asked, r.URL.RequestURI())
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	namespace, plural := parts[i+1], parts[i+2]
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	known := slices.Contains([]string{"pods one", "pods strange", "deployments app", "deployments other",
		"replicasets one"},
		plural+" "+parts[len(parts)-1])
	switch {
	case plural == "events":
		say(map[string]any{"kind": "EventList", "items": c.happened(namespace, r.URL.Query().Get("fieldSelector"))})
	case known:
		say(map[string]any{"metadata": map[string]any{"name": parts[len(parts)-1], "namespace": namespace,
			"uid": "u-" + parts[len(parts)-1], "annotations": c.marks}})
	default:
		w.WriteHeader(404)
		io.WriteString(w, `{"kind":"Status","reason":"NotFound","message":"not found","code":404,"details":{"name":"none"}}`)
	}
	return true
}

// happened are events about what a selector names, and then some that it does not select.
func (c *talkative) happened(namespace, selector string) (out []any) {
	q, _ := url.ParseQuery(strings.ReplaceAll(selector, ",", "&"))
	add := func(name, in, uid, reason string, at int) {
		out = append(out, map[string]any{
			"metadata": map[string]any{"name": name, "namespace": in},
			"involvedObject": map[string]any{"kind": q.Get("involvedObject.kind"), "uid": uid,
				"fieldPath": "spec.containers{app}"},
			"type": "Normal", "reason": reason, "message": reason + " in " + namespace,
			"source": map[string]any{"component": "kubelet"}, "count": 2,
			"firstTimestamp": "2026-01-01T00:00:00Z",
			"lastTimestamp":  time.Date(2026, 1, 1, 0, 0, at, 0, time.UTC).Format(time.RFC3339),
		})
	}
	uid := q.Get("involvedObject.uid")
	add("e1", namespace, uid, "Pulled", 1)
	add("e2", namespace, uid, "Started", 2)
	add("e3", namespace, "u-other", "Foreign", 3)
	add("e4", "kube-system", uid, "Foreign", 4)
	for i := range c.many {
		add(fmt.Sprint("m", i), namespace, uid, "Many", 0)
	}
	return out
}

func newTalkative(t *testing.T, prefix string) *talkative {
	c := &talkative{cluster: newCluster(t, prefix)}
	for _, namespace := range []string{"web", "lent"} {
		k := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: namespace, Name: "app"}
		c.records[k] = inventory.Record{UID: "u-app", OriginUID: "o-app"}
		k.Name = "other" // made again by another hand
		c.records[k] = inventory.Record{UID: "u-other-2", OriginUID: "o-other"}
	}
	c.api.Handle(c.answer)
	return c
}

// about is a view of the events about an object, with its UID or "origin:" with its origin's.
func about(space, namespace, of, uid string, options ...string) *exchange.Request {
	r := view(space, namespace, append([]string{"version", "v1", "resource", "events", "about", of}, options...)...)
	if origin, is := strings.CutPrefix(uid, "origin:"); is {
		r.Origin = origin
	} else {
		r.UID = uid
	}
	return r
}

// TestEvents: a site says what its cluster says about an object that the space has there, and of
// no other one.
func TestEvents(t *testing.T) {
	for _, prefix := range []string{"", "shop-"} {
		for name, c := range map[string]struct {
			request *exchange.Request
			code    int
		}{
			"a pod":                     {about("shop", "web", "Pod/one", "u-one"), 200},
			"one whose UID nobody knew": {about("shop", "web", "Pod/one", ""), 200},
			"a replica set":             {about("shop", "web", "ReplicaSet/one", ""), 200},
			"what was placed":           {about("shop", "web", "Deployment/app", "origin:o-app"), 200},
			"a pod where there was one": {about("shop", "lent", "Pod/one", "u-one"), 200},
			"a stranger there":          {about("shop", "lent", "Pod/strange", "u-strange"), 404},
			"a stranger":                {about("shop", "web", "Pod/strange", "u-strange"), 404},
			"an earlier pod":            {about("shop", "web", "Pod/one", "u-one-0"), 404},
			"of an earlier origin":      {about("shop", "web", "Deployment/app", "origin:o-app-0"), 404},
			"a pod as if placed":        {about("shop", "web", "Pod/one", "origin:o-one"), 404},
			"one of the site's name":    {about("shop", "web", "Deployment/other", "origin:o-other"), 404},
			"nothing":                   {about("shop", "web", "Pod/none", ""), 404},
			"another space's":           {about("shop", "team", "Pod/one", "u-one"), 404},
			"by another space":          {about("team", "team", "Pod/one", "u-one"), 404},
			"of an earlier space":       {of("s-shop-0", about("shop", "web", "Pod/one", "u-one")), 404},
			"another kind":              {about("shop", "web", "Secret/one", ""), 404},
		} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				at := newTalkative(t, prefix)
				if err := c.request.Check(); err != nil {
					t.Fatal(err)
				}
				code, body := ask(t, at.site(t), c.request)
				if code != c.code {
					t.Fatalf("%d: %s", code, body)
				}
				if code != 200 {
					if slices.ContainsFunc(at.asked, func(s string) bool { return strings.Contains(s, "/events") }) {
						t.Errorf("asked %q", at.asked)
					}
					return
				}
				all, err := events.Decode([]byte(body))
				if err != nil || len(all) != 2 {
					t.Fatalf("%s: %v", body, err)
				}
				want := events.Event{Name: "e2", Type: "Normal", Reason: "Started", Message: "Started in " + c.request.Namespace,
					Component: "kubelet", FieldPath: "spec.containers{app}", Count: 2,
					First: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Last: time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)}
				if all[0] != want || all[1].Reason != "Pulled" {
					t.Errorf("%+v, want %+v", all, want)
				}
				if last := at.asked[len(at.asked)-1]; !strings.Contains(last, url.QueryEscape("involvedObject.uid=u-")) {
					t.Errorf("asked %q", last)
				}
			})
		}
	}
}

// TestEventBounds: of many events the latest are told, as many as fit.
func TestEventBounds(t *testing.T) {
	for _, c := range []struct {
		many, most  int
		limit, says string
	}{
		{60, 62, "131072", ""},
		{200, 100, "131072", "the latest 100 of 202 events are shown"},
		{1200, 100, "131072", "the latest 100 of more than 1000 events are shown"},
		{60, 20, "3000", "of 62 events are shown"},
	} {
		at := newTalkative(t, "")
		at.many = c.many
		resp, err := at.site(t).Answer(t.Context(), about("shop", "web", "Pod/one", "u-one", "limitBytes", c.limit))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || fmt.Sprint(len(text)) > c.limit && len(text) > 3000 && c.limit == "3000" {
			t.Errorf("%d bytes: %v", len(text), err)
		}
		all, err := events.Decode(text)
		if err != nil || len(all) == 0 || len(all) > c.most || all[0].Reason != "Started" {
			t.Errorf("%d events: %v", len(all), err)
		}
		warnings := strings.Join(exchange.Warnings(resp.Header), "; ")
		if !strings.Contains(warnings, c.says) || (warnings == "") != (c.says == "") {
			t.Errorf("warnings %q, want %q", warnings, c.says)
		}
	}
}

// saying are the targets oslo and bergen of a relay, of which oslo answers.
type saying struct{ asked []*exchange.Request }

// Do implements exchange.Sites.
func (s *saying) Do(_ context.Context, name string, r *exchange.Request) (*http.Response, error) {
	s.asked = append(s.asked, r)
	if err := r.Check(); err != nil {
		return nil, err
	}
	if name != "oslo" {
		return nil, &exchange.Fault{Code: 503, Reason: "ServiceUnavailable", Message: "site " + name + " is away"}
	}
	text, err := events.Encode([]events.Event{{Name: "e1", Type: "Normal", Reason: "Started", Count: 1}})
	resp := answer(plain, text)
	resp.Header.Set(exchange.HeaderSite, name)
	return resp, err
}

// TestRelayEvents: a relay that is asked about one of its parent's objects asks its targets that
// have it, by the object's place there. Its own API is not asked for events.
func TestRelayEvents(t *testing.T) {
	mirror := map[string]string{"skerry.dev/reported-from": "oslo", "skerry.dev/reported-as": "a",
		"skerry.dev/reported-uid": "x"}
	for name, c := range map[string]struct {
		request *exchange.Request
		marks   map[string]string
		code    int
		asked   string // target's object and UID or origin
		words   string
	}{
		"a pod":         {about("shop", "web", "Pod/one", "u-one"), mirror, 200, "Pod/a x ", ""},
		"a replica set": {about("shop", "web", "ReplicaSet/one", ""), mirror, 200, "ReplicaSet/a  ", ""},
		"what was placed": {about("shop", "web", "Deployment/app", "origin:o-app"),
			map[string]string{"skerry.dev/targets": "oslo"}, 200, "Deployment/app  u-app", ""},
		"one that is away": {about("shop", "web", "Pod/one", "u-one"),
			map[string]string{"skerry.dev/reported-from": "bergen", "skerry.dev/reported-uid": "x"},
			200, "", "bergen: only the events that it has reported are shown: site bergen is away"},
		"nowhere":         {about("shop", "web", "Pod/one", "u-one"), nil, 200, "", ""},
		"the relay's own": {about("shop", "web", "Pod/strange", "u-strange"), mirror, 404, "", "no Pod web/strange"},
		"another origin":  {about("shop", "web", "Deployment/app", "origin:o-app-0"), mirror, 404, "", ""},
		"earlier space":   {of("s-shop-0", about("shop", "web", "Pod/one", "u-one")), mirror, 404, "", "no namespace"},
		"another space":   {about("shop", "team", "Pod/one", "u-one"), mirror, 404, "", "no namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			space := newTalkative(t, "")
			space.marks = maps.Clone(c.marks)
			clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.api.Config() }))
			t.Cleanup(clients.CloseIdle)
			children := &saying{}
			relay := &Relay{Client: clients.For, Records: space, Pods: space, Children: children}
			resp, err := relay.Answer(t.Context(), c.request)
			if slices.ContainsFunc(space.asked, func(s string) bool { return strings.Contains(s, "/events") }) {
				t.Errorf("the relay's own API was asked for events: %q", space.asked)
			}
			if err != nil {
				if f := exchange.FaultOf(err); f.Code != c.code || !strings.Contains(f.Message, c.words) || children.asked != nil {
					t.Errorf("%d: %s", f.Code, f.Message)
				}
				return
			}
			text, err := io.ReadAll(resp.Body)
			if err != nil || c.code != 200 {
				t.Fatalf("%s: %v", text, err)
			}
			all, err := events.Decode(text)
			if err != nil || len(all) == 1 != (c.asked != "") {
				t.Fatalf("%s: %v", text, err)
			}
			if got := strings.Join(exchange.Warnings(resp.Header), "; "); got != c.words {
				t.Errorf("warnings %q", got)
			}
			if c.asked == "" {
				return
			}
			r := children.asked[0]
			if got := r.Query.Get("about") + " " + r.UID + " " + r.Origin; got != c.asked || r.Namespace != "web" ||
				r.Space != "shop" {
				t.Errorf("asked %q, want %q: %+v", got, c.asked, r)
			}
			kind, of, _ := events.Asks(c.request)
			if want := events.Name("oslo", "e1", kind, of); all[0].Name != want {
				t.Errorf("event %s, want %s", all[0].Name, want)
			}
		})
	}
}
