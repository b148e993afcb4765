package sessions

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
)

// echo sends back what comes.
type echo struct{}

func (echo) ServeStream(_ context.Context, s tunnel.Stream) {
	_, _ = io.Copy(s, s)
	s.Close()
}

// reachable is a site that brings data connections up.
type reachable struct {
	*link
	numbers chan tunnel.Number
	conns   chan *mux.Conn
	ended   chan error
}

// bare dials a data connection of a site.
func (c *center) bare(ctx context.Context, s *site, session tunnel.Conn) (data.Bare, error) {
	block, _ := pem.Decode(s.chain)
	roots := x509.NewCertPool()
	roots.AddCert(c.server.cert)
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: s.key}},
		RootCAs:      roots,
	}
	if session != nil && session.Transport() == "quic" {
		d, err := quic.DialData(ctx, session, config, nil)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	d, err := tcp.DialData(ctx, c.stream.Addr().String(), tcp.DialConfig{TLS: config})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// reach runs a session of a site that serves streams.
func (c *center) reach(s *site, h tunnel.StreamHandler) *reachable {
	c.t.Helper()
	r := &reachable{numbers: make(chan tunnel.Number, 9), conns: make(chan *mux.Conn, 9), ended: make(chan error, 9)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	c.t.Cleanup(func() { cancel(); running.Wait() })
	sessions := make(chan tunnel.Conn, 1)
	c.dialled = func(conn tunnel.Conn) { sessions <- conn }
	r.link = c.connect(s, func(cfg *tunnel.ChildConfig) {
		cfg.OnConnect = func(n tunnel.Number, failed func(error)) {
			session := <-sessions
			sessions <- session
			r.numbers <- n
			running.Go(func() {
				bare, err := c.bare(ctx, s, session)
				var conn *mux.Conn
				if err == nil {
					conn, err = data.Dial(ctx, bare, n, data.Config{})
				}
				if err != nil {
					failed(err)
					return
				}
				r.conns <- conn
				r.ended <- data.Serve(ctx, conn, data.Config{Handler: h})
			})
		}
	})
	got(c.t, r.welcome, "a welcome")
	return r
}

// says opens a stream to a target and tells whether what it says comes back.
func (c *center) says(target, text string) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	s, err := c.sessions.OpenStream(ctx, target)
	if err != nil {
		return err
	}
	defer s.Cancel()
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	got, err := io.ReadAll(s)
	if err == nil && string(got) != text {
		err = errors.New("came back as " + string(got))
	}
	return err
}

// A stream reaches into a site over either transport, over one connection that is brought up once.
func TestStreamsReachASite(t *testing.T) {
	for _, over := range []string{"quic", "tcp"} {
		t.Run(over, func(t *testing.T) {
			c := newCenter(t)
			c.open()
			c.tcp = over == "tcp"
			s := c.joined("paris")
			r := c.reach(s, echo{})
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					if err := c.says("paris", "hello"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			conn := got(t, r.conns, "a data connection")
			if conn.Transport() != over {
				t.Errorf("it goes over %s", conn.Transport())
			}
			if n := len(r.numbers); n != 1 {
				t.Errorf("the site was asked %d times", n)
			}
			today := func() int64 {
				for _, l := range c.sessions.links.All() {
					c.sessions.accountData(l, time.Now())
				}
				known, _ := c.sessions.targets.get("paris")
				u := c.sessions.usage.add("paris", known, time.Now(), crossing{}, true)
				return u.ByPurpose.Streams
			}
			if n := today(); n < 100 {
				t.Errorf("%d bytes of streams are counted, of 100 and their frames", n)
			}
		})
	}
}

// A target that cannot be reached is away, with when it was last heard of, and why.
func TestAway(t *testing.T) {
	c := newCenter(t)
	c.open()
	var away *tunnel.Away
	if _, err := c.sessions.OpenStream(t.Context(), "nowhere"); !errors.As(err, &away) || !away.Since.IsZero() ||
		away.Target != "nowhere" {
		t.Errorf("a target that does not exist: %v", err)
	}
	s := c.joined("paris")
	l := c.connect(s) // an agent that serves no streams
	got(t, l.welcome, "a welcome")
	_, err := c.sessions.OpenStream(t.Context(), "paris")
	if !errors.As(err, &away) || time.Since(away.Since) > patience ||
		!strings.Contains(err.Error(), "serves no streams") {
		t.Errorf("an agent that serves no streams: %v", err)
	}
	l.stop()
	within(t, "the end of the session", func() bool { return c.sessions.session("paris") == nil })
	_, err = c.sessions.OpenStream(t.Context(), "paris")
	if !errors.As(err, &away) || time.Since(away.Since) > patience || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("an agent that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.sessions.OpenStream(ctx, "paris"); errors.As(err, &away) && away.Reason == context.Canceled.Error() {
		t.Errorf("who gives up is told %v", err)
	}
}

// openedTo opens a stream to a target and says a byte.
func (c *center) openedTo(target string) tunnel.Stream {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	s, err := c.sessions.OpenStream(ctx, target)
	must(c.t, err)
	c.t.Cleanup(s.Cancel)
	must(c.t, alive(s))
	return s
}

// alive says a byte on a stream to an echo.
func alive(s tunnel.Stream) error {
	if _, err := s.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(s, make([]byte, 1))
	return err
}

// Whoever does not belong here any more loses the data connection with the session.
func TestDataConnectionEndsWithItsTarget(t *testing.T) {
	for name, end := range map[string]func(c *center){
		"removed":   func(c *center) { c.api.change(targetsPath+"/paris", nil) },
		"key taken": func(c *center) { c.annotate(v1alpha1.AnnotationKey, nil) },
		"revoked": func(c *center) {
			known, _ := c.sessions.targets.get("paris")
			c.annotate(v1alpha1.AnnotationRevoked, known.key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCenter(t)
			c.open()
			r := c.reach(c.joined("paris"), echo{})
			stream := c.openedTo("paris")
			c.annotate("note", "a change that concerns nobody")
			must(t, alive(stream))
			end(c)
			if _, err := stream.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("the stream reads %v", err)
			}
			if err := got(t, r.ended, "the end of the data connection"); !errors.Is(err, tunnel.ErrRemoved) &&
				!errors.Is(err, tunnel.ErrRefused) {
				t.Errorf("the agent was told %v", err)
			}
			if _, err := c.sessions.OpenStream(t.Context(), "paris"); err == nil {
				t.Error("a stream reaches it again")
			}
		})
	}
}

func (c *center) annotate(name string, value any) {
	c.api.change(
		targetsPath+"/paris",
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}},
	)
}

// A stream goes on while one session of its site replaces the other, whichever way they come, and
// nobody takes the data connection for another agent.
func TestStreamOutlivesItsSession(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	first := c.reach(s, echo{})
	stream := c.openedTo("paris")
	c.dialled = nil
	for i := range 3 {
		c.tcp = i%2 == 0
		next := c.connect(s)
		got(t, next.welcome, "a welcome")
		must(t, alive(stream))
	}
	if err := got(t, first.link.ended, "the end of the first session"); !errors.Is(err, tunnel.ErrReplaced) {
		t.Errorf("the first session ended with %v", err)
	}
	must(t, c.says("paris", "hello"))
	if n := len(first.numbers); n != 1 {
		t.Errorf("the site was asked %d times", n)
	}
	if at := c.sessions.session("paris").duplicateAgents; !at.at.IsZero() {
		t.Errorf("two agents are said to take turns: %+v", at)
	}
}

// A center that stops takes the streams along and tells the agent; the one after it knows nothing
// of them.
func TestDataConnectionEndsWithTheCenter(t *testing.T) {
	c := newCenter(t)
	stop := c.open()
	r := c.reach(c.joined("paris"), echo{})
	stream := c.openedTo("paris")
	stop()
	if _, err := stream.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("the stream reads %v", err)
	}
	if err := got(t, r.ended, "the end"); !errors.Is(err, tunnel.ErrDraining) {
		t.Errorf("the agent was told %v", err)
	}
}

// Data connections that nobody has asked for do not get past their handshake, whoever comes.
func TestUnaskedDataConnections(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	c.reach(s, echo{})
	for range 20 {
		bare, err := c.bare(t.Context(), s, nil)
		if err == nil { // over TLS 1.3 a client learns it from the first answer
			_, err = data.Dial(t.Context(), bare, tunnel.NewNumber(), data.Config{})
		}
		if err == nil {
			t.Fatal("a connection was taken that nobody has asked for")
		}
	}
	must(t, c.says("paris", "hello"))
	if c.sessions.session("paris") == nil {
		t.Error("the session has ended")
	}
}

// What crosses a data connection counts against the budget of the link.
func TestStreamsCountAgainstTheBudget(t *testing.T) {
	c := newCenter(t)
	c.open()
	c.reach(c.joined("paris"), echo{})
	c.api.change(
		targetsPath+"/paris",
		map[string]any{"spec": map[string]any{"link": map[string]any{"class": "wan", "bytesPerDay": "100k"}}},
	)
	must(t, c.says("paris", "hello"))
	if c.sessions.session("paris").use.Now().Hold {
		t.Fatal("the budget is used up by a few bytes")
	}
	must(t, c.says("paris", strings.Repeat("x", 60_000)))
	within(t, "the end of the budget", func() bool { return c.sessions.session("paris").use.Now().Hold })
	if len(c.sessions.links.All()) != 1 {
		t.Error("it was counted only when the connection had ended")
	}
	must(t, c.says("paris", "what a user asks for goes on"))
}
