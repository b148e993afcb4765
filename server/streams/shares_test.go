package streams

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// TestShares: an answer counts until its body is closed, an upgraded connection, too.
func TestShares(t *testing.T) {
	var conns []net.Conn
	s := New(Config{SpaceUID: uidOf, Targets: sites{func(_ context.Context, r *exchange.Request) (*http.Response, error) {
		if r.Verb != exchange.Connect {
			return ok("a line"), nil
		}
		near, far := net.Pipe()
		conns = append(conns, far)
		return &http.Response{StatusCode: 101, Body: near, Header: exchange.Bytes()}, nil
	}}})
	hook := execOf()
	hook.Verb, hook.Upgrade = exchange.Connect, exchange.Bytes()
	hook.Query = map[string][]string{exchange.OptionPort: {"8443"}}
	var open []io.Closer
	for range exchange.MostOfSpace {
		resp, err := s.Do(t.Context(), "oslo", hook)
		if err != nil {
			t.Fatal(err)
		}
		if _, upgraded := resp.Body.(io.ReadWriteCloser); !upgraded {
			t.Fatal("nothing can be written")
		}
		open = append(open, resp.Body)
	}
	if _, err := s.Do(t.Context(), "oslo", hook); exchange.FaultOf(err).Code != 429 {
		t.Errorf("one more: %v", err)
	}
	resp, err := s.Do(t.Context(), "oslo", logOf())
	if err != nil {
		t.Fatalf("a user is kept out: %v", err)
	}
	resp.Body.Close()
	open[0].Close()
	resp, err = s.Do(t.Context(), "oslo", hook)
	if err != nil {
		t.Fatalf("one that was closed still counts: %v", err)
	}
	for _, c := range append(open, resp.Body) {
		c.Close()
	}
	for _, c := range conns {
		c.Close()
	}
}
