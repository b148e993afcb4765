package streams

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel/exchange"
)

// noPod knows none: what is asked for is below a relay.
type noPod struct{ everyPod }

// viewed are the objects of a site below, by RESOURCE/NAME: UID, and the controller's kind, name, UID.
var viewed = map[string]string{
	"pods/web-1":             `u-1","ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"u-rs","controller":true}`,
	"replicasets/web":        `u-rs","ownerReferences":[{"kind":"Deployment","name":"web","uid":"u-web","controller":true}`,
	"deployments/web":        `u-web","ownerReferences":[{}`,
	"pods/local-1":           `u-2","ownerReferences":[{"kind":"ReplicaSet","name":"local","uid":"u-rs2","controller":true}`,
	"replicasets/local":      `u-rs2","ownerReferences":[{"kind":"Deployment","name":"local","uid":"u-local","controller":true}`,
	"deployments/local":      `u-local","ownerReferences":[{}`,
	"pods/db-0":              `u-3","ownerReferences":[{"kind":"StatefulSet","name":"db","uid":"u-db","controller":true}`,
	"pods/loose":             `u-4","ownerReferences":[{}`,
	"pods/odd":               `u-5","ownerReferences":[{"kind":"Oddity","name":"odd","uid":"u-odd","controller":true}`,
	"pods/replaced":          `u-6","ownerReferences":[{"kind":"ReplicaSet","name":"gone","uid":"u-gone","controller":true}`,
	"replicasets/gone":       `u-other","ownerReferences":[{"kind":"Deployment","name":"web","uid":"u-web","controller":true}`,
	"persistentvolumeclaims": "",
}

// TestBelowRelay: a Pod that the relay's space does not have is reached by the path that the parent
// names, if it is part of what the parent has placed at the relay. What users of the relay have
// placed is not reached by the parent's.
func TestBelowRelay(t *testing.T) {
	space := targettest.New(t)
	space.Put("v1", "Namespace", "", "web", namespaceOf("web"))
	for kind, uid := range map[string]string{"Deployment web": "r-web", "Deployment local": "r-local",
		"StatefulSet db": "r-db"} {
		kind, name, _ := strings.Cut(kind, " ")
		space.Put("apps/v1", kind, "web", name, map[string]any{"metadata": map[string]any{"uid": uid}})
	}
	clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.Config() }))
	t.Cleanup(clients.CloseIdle)
	for name, c := range map[string]struct {
		pod, uid, space string
		path            []string
		code            int
	}{
		"of a Deployment":        {"web-1", "u-1", "s-shop", []string{"oslo"}, 200},
		"through another relay":  {"web-1", "u-1", "s-shop", []string{"nordic", "oslo"}, 200},
		"of a StatefulSet":       {"db-0", "u-3", "s-shop", []string{"oslo"}, 200},
		"of a user of the relay": {"local-1", "u-2", "s-shop", []string{"oslo"}, 404},
		"of nobody":              {"loose", "u-4", "s-shop", []string{"oslo"}, 404},
		"of an unknown kind":     {"odd", "u-5", "s-shop", []string{"oslo"}, 404},
		"of an owner made anew":  {"replaced", "u-6", "s-shop", []string{"oslo"}, 404},
		"that was made anew":     {"web-1", "u-0", "s-shop", []string{"oslo"}, 404},
		"that is not there":      {"web-2", "u-1", "s-shop", []string{"oslo"}, 404},
		"of a space made anew":   {"web-1", "u-1", "s-shop-2", []string{"oslo"}, 404},
		"without a path":         {"web-1", "u-1", "s-shop", nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			below := &targettest.Children{}
			below.Answer = func(_ context.Context, r *exchange.Request) (*http.Response, error) {
				paths = append(paths, strings.Join(r.Path, "/"))
				if r.Verb == exchange.Log {
					return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(r.Pod + " " + r.UID))}, nil
				}
				of, there := viewed[r.Query.Get("resource")+"/"+r.Query.Get("name")]
				if !there {
					return nil, missing(r)
				}
				return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(
					`{"metadata":{"uid":"` + of + `]}}`))}, nil
			}
			owns := func(uid string) bool { return uid == "r-web" || uid == "r-db" }
			h := New(Config{Pods: noPod{}, Log: slog.New(slog.DiscardHandler),
				Backend: &Relay{Client: clients.For, Children: below, Owns: owns}})
			r := logOf("shop", "web", c.pod, c.uid)
			r.Path, r.SpaceUID = c.path, c.space
			resp, body, err := ask(t, h, r)
			if err != nil || resp.StatusCode != c.code || c.code == 200 && body != c.pod+" "+c.uid {
				t.Fatalf("%v, %v: %s", resp, err, body)
			}
			asked := below.Last() != nil && below.Last().Verb == exchange.Log
			if asked != (c.code == 200) || slices.Contains(below.Opened(), "") ||
				slices.ContainsFunc(below.Opened(), func(to string) bool { return to != c.path[0] }) ||
				slices.ContainsFunc(paths, func(p string) bool { return p != strings.Join(c.path[1:], "/") }) {
				t.Errorf("asked %v, paths %q", below.Opened(), paths)
			}
		})
	}
}

// TestNothingIsWrittenByPath: a Pod that the relay does not know is not deleted by its path.
func TestNothingIsWrittenByPath(t *testing.T) {
	space := targettest.New(t)
	space.Put("v1", "Namespace", "", "web", namespaceOf("web"))
	space.Put("apps/v1", "Deployment", "web", "web", map[string]any{"metadata": map[string]any{"uid": "r-web"}})
	clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.Config() }))
	t.Cleanup(clients.CloseIdle)
	below := &targettest.Children{}
	h := New(Config{Pods: noPod{}, Log: slog.New(slog.DiscardHandler),
		Backend: &Relay{Client: clients.For, Children: below, Owns: func(string) bool { return true }}})
	for _, verb := range []exchange.Verb{exchange.Delete, exchange.Evict} {
		r := logOf("shop", "web", "web-1", "u-1")
		r.Verb, r.Query, r.Path, r.SpaceUID = verb, nil, []string{"oslo"}, "s-shop"
		if resp, body, err := ask(t, h, r); err != nil || resp.StatusCode != 404 || len(below.Opened()) > 0 {
			t.Errorf("%s: %v, %v: %s", verb, resp, err, body)
		}
	}
}

// TestPathEndsAtSite: a site that is no relay has nothing below it.
func TestPathEndsAtSite(t *testing.T) {
	s := newSite(t)
	r := logOf("shop", "web", "app-1", "u-1")
	r.Path = []string{"oslo"}
	if resp, body, err := ask(t, s.handler(t, nil), r); err != nil || resp.StatusCode != 404 {
		t.Errorf("%v, %v: %s", resp, err, body)
	}
}
