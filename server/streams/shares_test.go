package streams

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/tunneltest"
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

// echoing is a connection that sends back what it gets once that has ended.
type echoing struct {
	net.Conn
	ended chan struct{}
	end   func()
}

func newEchoing(over net.Conn) *echoing {
	e := &echoing{Conn: over, ended: make(chan struct{})}
	e.end = sync.OnceFunc(func() { close(e.ended) })
	return e
}

func (e *echoing) CloseWrite() error {
	e.end()
	return nil
}

func (e *echoing) Close() error {
	e.end()
	return e.Conn.Close()
}

func (e *echoing) Write(p []byte) (int, error) { return len(p), nil }

func (e *echoing) Read(p []byte) (int, error) {
	<-e.ended
	return copy(p, "all of it"), io.EOF
}

// standing is a connection to a site that stays when a stream has ended.
type standing struct{ tunnel.Conn }

func (s standing) OpenStream(ctx context.Context, _ string) (tunnel.Stream, error) {
	return s.Conn.OpenStream(ctx)
}

type answering exchange.Answer

func (a answering) ServeStream(ctx context.Context, s tunnel.Stream) {
	_ = exchange.Serve(ctx, s, exchange.Answer(a)) // whoever asked is told
}

// TestAHalfEnds: a caller that has said all is still answered.
func TestAHalfEnds(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	site := standing{tunneltest.ServeStreams(t, answering(func(context.Context, *exchange.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Body: newEchoing(near), Header: exchange.Bytes()}, nil
	}))}
	s := New(Config{SpaceUID: uidOf, Targets: site})
	call := execOf()
	call.Verb, call.Upgrade, call.Resource, call.UID, call.Origin = exchange.Connect, exchange.Bytes(), exchange.Services, "", "u-1"
	call.Query = map[string][]string{exchange.OptionPort: {"80"}}
	resp, err := s.Do(t.Context(), "oslo", call)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	half, can := resp.Body.(exchange.CloseWriter)
	if !can {
		t.Fatal("a half does not end alone")
	}
	if _, err := io.WriteString(resp.Body.(io.Writer), "question"); err != nil {
		t.Fatal(err)
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "all of it" {
		t.Errorf("answered %q, %v", text, err)
	}
}
