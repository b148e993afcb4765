package streams

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

type everyPod struct{}

func (everyPod) Placed(store.Key, string) bool               { return true }
func (everyPod) Delivered(_ store.Key, origin string) string { return origin }

// TestRelay: the relay's own Pod names the child, its name and its UID there.
func TestRelay(t *testing.T) {
	s := newSite(t)
	space := targettest.New(t)
	space.Put("v1", "Namespace", "", "web", namespaceOf("web"))
	space.Put("v1", "Pod", "web", "app-1.oslo", map[string]any{"metadata": map[string]any{
		"uid": "r-1",
		"annotations": map[string]any{
			"skerry.dev/reported-from": "oslo",
			"skerry.dev/reported-as":   "app-1",
			"skerry.dev/reported-uid":  "u-1",
		},
	}})
	clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.Config() }))
	t.Cleanup(clients.CloseIdle)
	for name, c := range map[string]struct {
		space, uid string
		code       int
	}{
		"that Pod":      {"s-shop", "r-1", 200},
		"another Pod":   {"s-shop", "r-2", 404},
		"another space": {"s-shop-2", "r-1", 404},
	} {
		t.Run(name, func(t *testing.T) {
			below := &targettest.Children{Answer: s.handler(t, nil).answer}
			h := New(
				Config{
					Pods:    everyPod{},
					Backend: &Relay{Client: clients.For, Children: below},
					Log:     slog.New(slog.DiscardHandler),
				},
			)
			ask1 := logOf("shop", "web", "app-1.oslo", c.uid)
			ask1.SpaceUID = c.space
			resp, body, err := ask(t, h, ask1)
			if err != nil || resp.StatusCode != c.code {
				t.Fatalf("%v, %v: %s", resp, err, body)
			}
			if c.code != 200 {
				if opened := below.Opened(); len(opened) > 0 {
					t.Errorf("a child was asked: %v", opened)
				}
				return
			}
			got := below.Last()
			if body != "a line\n" || resp.Header.Get(exchange.HeaderSite) != "oslo" ||
				got.Pod != "app-1" || got.UID != "u-1" {
				t.Errorf("%q from %q: %+v", body, resp.Header.Get(exchange.HeaderSite), got)
			}
		})
	}
}

// TestRelayOfAService: whoever has Pods of a Service is found below the relay, by the UID that the Service has there.
// The relay's own Namespace has to be of the very space that asks.
func TestRelayOfAService(t *testing.T) {
	s := newServed(t)
	space := targettest.New(t)
	space.Put("v1", "Namespace", "", "web", namespaceOf("web"))
	clients := target.NewClients(target.Relay(func(string) *rest.Config { return space.Config() }))
	t.Cleanup(clients.CloseIdle)
	for name, c := range map[string]struct {
		space, origin string
		code          int
	}{
		"the Service":      {"s-shop", "o-web", 200},
		"another Service":  {"s-shop", "o-other", 404},
		"an earlier space": {"s-shop-2", "o-web", 404},
	} {
		t.Run(name, func(t *testing.T) {
			below := &targettest.Children{Answer: func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
			}}
			h := New(Config{Pods: s, Backend: &Relay{Client: clients.For, Children: below}, Log: slog.New(slog.DiscardHandler)})
			r := call("80")
			r.SpaceUID, r.Origin = c.space, c.origin
			resp, text, err := ask(t, h, r)
			if err != nil || resp.StatusCode != c.code {
				t.Fatalf("%v %v: %s", resp, err, text)
			}
			if c.code != 200 {
				if below.Last() != nil {
					t.Errorf("a child was asked: %+v", below.Last())
				}
			} else if got := below.Last(); got.Origin != "u-web" || got.UID != "" || got.Pod != "web" || below.Opened()[0] != targettest.AnyChild {
				t.Errorf("asked for %+v of %v", got, below.Opened())
			}
		})
	}
}
