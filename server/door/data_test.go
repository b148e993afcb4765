package door

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

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
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: s.key}}, RootCAs: roots}
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
	s, err := c.door.OpenStream(ctx, target)
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
				for _, l := range c.door.links.All() {
					c.door.accountData(l, time.Now())
				}
				known, _ := c.door.targets.get("paris")
				u := c.door.usage.add("paris", known, time.Now(), crossing{}, true)
				return u.ByPurpose.Streams
			}
			if n := today(); n < 100 {
				t.Errorf("%d bytes of streams are counted, of 100 and their frames", n)
			}
		})
	}
}
