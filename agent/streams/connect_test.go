package streams

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

func connectTo(space, namespace, pod, uid, port string) *exchange.Request {
	return &exchange.Request{
		Space: space, SpaceUID: "s-" + space, Namespace: namespace, Pod: pod, UID: uid, Verb: exchange.Connect,
		Query: url.Values{exchange.OptionPort: {port}}, Upgrade: exchange.Bytes(),
	}
}

// forwards answers as an API server that forwards ports: what comes to 8443 goes back, nobody
// listens at others.
func forwards(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/pods/app-1/portforward") || r.URL.RawQuery != "" {
			t.Errorf("asked for %s", r.URL)
		}
		if _, err := httpstream.Handshake(r, w, []string{forwarding}); err != nil {
			t.Error(err)
			return
		}
		streams := make(chan httpstream.Stream, 2)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r,
			func(s httpstream.Stream, _ <-chan struct{}) error { streams <- s; return nil })
		if conn == nil {
			return
		}
		defer conn.Close()
		failed, bytes := <-streams, <-streams
		if failed.Headers().Get(streamType) != streamError || bytes.Headers().Get(streamType) != streamData ||
			failed.Headers().Get(headerNumber) != bytes.Headers().Get(headerNumber) {
			t.Error("streams that do not go together")
		}
		if bytes.Headers().Get(headerPort) == "8443" {
			_, _ = io.Copy(bytes, bytes)
		} else {
			_, _ = io.WriteString(failed, "nobody listens")
		}
		_ = failed.Close()
		_ = bytes.Close()
		<-conn.CloseChan()
	}
}

// connect opens a stream to a handler and returns what it answers. The handler has ended when end
// returns.
func connect(t *testing.T, h *Handler, r *exchange.Request) (resp *http.Response, end func()) {
	t.Helper()
	down, up := pipe.New(pipe.Options{})
	stream, err := up.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s, err := down.AcceptStream(context.WithoutCancel(t.Context())); err == nil {
			h.ServeStream(t.Context(), s)
		}
	}()
	if resp, err = exchange.RoundTrip(t.Context(), stream, r); err != nil {
		t.Fatal(err)
	}
	return resp, func() {
		resp.Body.Close()
		<-done
		up.Close(nil)
		down.Close(nil)
	}
}

// TestConnect: bytes pass in both directions between the parent and a port of a Pod.
func TestConnect(t *testing.T) {
	s := newSite(t)
	s.ready, s.answer = true, forwards(t)
	h := s.handler(t, nil)
	resp, end := connect(t, h, connectTo("shop", "web", "app-1", "u-1", "8443"))
	defer end()
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != 101 || !ok {
		t.Fatalf("%d", resp.StatusCode)
	}
	for _, text := range []string{"hello", strings.Repeat("more ", 50_000)} {
		go func() { _, _ = io.WriteString(conn, text) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
			t.Errorf("%.20q, %v", got, err)
		}
	}
}

// TestConnectNobody: a port that nobody listens at ends the connection.
func TestConnectNobody(t *testing.T) {
	s := newSite(t)
	s.ready, s.answer = true, forwards(t)
	resp, end := connect(t, s.handler(t, nil), connectTo("shop", "web", "app-1", "u-1", "9"))
	defer end()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 101 || len(text) > 0 {
		t.Errorf("%d %q", resp.StatusCode, text)
	}
}

// TestConnectRefusals: nothing but a ready Pod of the space, in a network of its own, is connected
// to.
func TestConnectRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*site)
		r    *exchange.Request
		code int
		says string
	}{
		"not ready": {func(s *site) { s.ready = false }, connectTo("shop", "web", "app-1", "u-1", "8443"),
			409, "not ready"},
		"going": {func(s *site) { s.going = true }, connectTo("shop", "web", "app-1", "u-1", "8443"),
			409, "not ready"},
		"in the node's network": {func(s *site) { s.hostNetwork = true },
			connectTo("shop", "web", "app-1", "u-1", "8443"), 403, "hostNetwork"},
		"of another space": {nil, connectTo("team", "web", "app-1", "u-1", "8443"), 404, "no pod"},
		"of nobody":        {nil, connectTo("shop", "web", "stranger", "u-stranger", "8443"), 404, "no pod"},
		"of the cluster":   {nil, connectTo("shop", "kube-system", "dns", "u-dns", "53"), 404, "no pod"},
		"a successor":      {nil, connectTo("shop", "web", "app-2", "u-old", "8443"), 404, "no pod"},
		"not forwarded": {func(s *site) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(403)
				_, _ = io.WriteString(w, `{"message":"no rights"}`)
			}
		}, connectTo("shop", "web", "app-1", "u-1", "8443"), 403, "no rights"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.ready, s.answer = true, func(http.ResponseWriter, *http.Request) {
				t.Error("the cluster was asked for a port")
			}
			if c.set != nil {
				c.set(s)
			}
			resp, text, err := ask(t, s.handler(t, nil), c.r)
			if err != nil || resp.StatusCode != c.code || !strings.Contains(text, c.says) {
				t.Errorf("%v %s %v", resp, text, err)
			}
		})
	}
}

// TestWebhooksHaveTheirShare: users who have used theirs up keep no webhook out, nor the reverse.
func TestWebhooksHaveTheirShare(t *testing.T) {
	s := newSite(t)
	s.ready, s.answer = true, forwards(t)
	h := s.handler(t, nil)
	for range exchange.MostOfUsers {
		if _, err := h.shares.Take("", logOf("shop", "web", "app-1", "u-1")); err != nil {
			t.Fatal(err)
		}
	}
	if resp, text, _ := ask(t, h, logOf("shop", "web", "app-1", "u-1")); resp.StatusCode != 429 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	resp, end := connect(t, h, connectTo("shop", "web", "app-1", "u-1", "8443"))
	if resp.StatusCode != 101 {
		t.Errorf("a webhook is kept out: %d", resp.StatusCode)
	}
	end()
	for i := range exchange.MostOfWebhooks {
		r := connectTo(fmt.Sprint("space-", i), "web", "app-1", "u-1", "8443")
		if _, err := h.shares.Take("", r); err != nil {
			t.Fatal(err)
		}
	}
	resp, end = connect(t, h, connectTo("shop", "web", "app-1", "u-1", "8443"))
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 429 || !strings.Contains(string(text), "webhooks") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	end()
}
