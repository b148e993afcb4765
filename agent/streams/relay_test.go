package streams

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

// relay is a relay's space shop, whose Pod web.oslo is called web at target oslo.
type relay struct {
	asked []string
	got   *exchange.Request
	child *Handler
}

func (r *relay) OpenStream(ctx context.Context, name string) (tunnel.Stream, error) {
	r.asked = append(r.asked, name)
	down, up := pipe.New(pipe.Options{})
	context.AfterFunc(ctx, func() { up.Close(nil) })
	stream, err := up.OpenStream(ctx)
	go func() {
		if s, err := down.AcceptStream(context.WithoutCancel(ctx)); err == nil {
			_ = exchange.Serve(
				ctx,
				s,
				func(ctx context.Context, got *exchange.Request) (*http.Response, error) {
					r.got = got
					return r.child.answer(ctx, got)
				},
			)
			down.Close(nil)
		}
	}()
	return stream, err
}

func (r *relay) Do(ctx context.Context, name string, q *exchange.Request) (*http.Response, error) {
	return exchange.Via(ctx, r, name, q)
}

type everyPod struct{}

func (everyPod) Placed(store.Key, string) bool               { return true }
func (everyPod) Delivered(_ store.Key, origin string) string { return origin }

// TestRelay: the relay's own Pod names the child, its name and its UID there; the path that the
// parent expects is compared with it.
func TestRelay(t *testing.T) {
	s := newSite(t)
	marks := `"skerry.dev/reported-from":"oslo","skerry.dev/reported-as":"app-1","skerry.dev/reported-uid":"u-1"`
	space := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/"); ok && !strings.Contains(name, "/") {
			io.WriteString(w, namespaceOf(name))
			return
		}
		io.WriteString(
			w,
			`{"kind":"Pod","metadata":{"name":"app-1.oslo","uid":"r-1","annotations":{`+marks+`}}}`,
		)
	}))
	t.Cleanup(space.Close)
	clients := target.NewClients(
		target.Relay(func(string) *rest.Config { return &rest.Config{Host: space.URL} }),
	)
	t.Cleanup(clients.CloseIdle)
	for name, c := range map[string]struct {
		space, uid string
		path       []string
		code       int
	}{
		"no path":         {"s-shop", "r-1", nil, 200},
		"that path":       {"s-shop", "r-1", []string{"oslo"}, 200},
		"a longer path":   {"s-shop", "r-1", []string{"oslo", "edge"}, 200},
		"beside its path": {"s-shop", "r-1", []string{"bergen"}, 403},
		"another Pod":     {"s-shop", "r-2", nil, 404},
		"another space":   {"s-shop-2", "r-1", nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			r := &relay{child: s.handler(t, nil)}
			h := New(
				Config{
					Pods:    everyPod{},
					Backend: &Relay{Client: clients.For, Children: r},
					Log:     slog.New(slog.DiscardHandler),
				},
			)
			ask1 := logOf("shop", "web", "app-1.oslo", c.uid)
			ask1.Path, ask1.SpaceUID = c.path, c.space
			resp, body, err := ask(t, h, ask1)
			if err != nil || resp.StatusCode != c.code {
				t.Fatalf("%v, %v: %s", resp, err, body)
			}
			if c.code != 200 {
				if len(r.asked) > 0 {
					t.Errorf("a child was asked: %v", r.asked)
				}
				return
			}
			if body != "a line\n" || resp.Header.Get(exchange.HeaderSite) != "oslo" ||
				r.got.Pod != "app-1" ||
				r.got.UID != "u-1" {
				t.Errorf("%q from %q: %+v", body, resp.Header.Get(exchange.HeaderSite), r.got)
			}
			if want := c.path[min(len(c.path), 1):]; strings.Join(
				r.got.Path,
				"/",
			) != strings.Join(
				want,
				"/",
			) {
				t.Errorf("path %v, want %v", r.got.Path, want)
			}
		})
	}
}
