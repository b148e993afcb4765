package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tracing"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// center is a parent with one join token, a desired feed and an inbox, on one port of TCP and UDP.
type center struct {
	t      testing.TB
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
	server tls.Certificate
	web    *httptest.Server
	token  enroll.Token
	inbox  *storetest.Memory
	clock  time.Duration
	life   time.Duration // of the agents' certificates

	mu       sync.Mutex
	used     bool
	signed   int
	feed     *store.Feed
	bodies   map[store.Key]store.Entry
	revision int64
	with     furnished
	held     chan delta.Held // nil: nobody asks
	orders   *tunnel.Commands
	follow   *tracing.Follower // nil: nothing is traced
	shut     func()            // ends the QUIC listener
}

func newCenter(t testing.TB) *center {
	c := &center{
		t:      t,
		inbox:  storetest.NewMemory(),
		bodies: map[store.Key]store.Entry{},
		life:   time.Hour,
		with:   furnished{},
	}
	c.inbox.AcceptNewIncarnation = true
	c.key = newKey(t)
	c.ca = c.sign(
		&x509.Certificate{
			Subject:               pkix.Name{CommonName: "ca"},
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign,
		},
		&c.key.PublicKey,
		2*time.Hour,
	)
	key := newKey(t)
	leaf := c.sign(
		&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		&key.PublicKey,
		time.Hour,
	)
	c.server = tls.Certificate{Certificate: [][]byte{leaf.Raw, c.ca.Raw}, PrivateKey: key}
	pin := sha256.Sum256(c.ca.RawSubjectPublicKeyInfo)
	c.token = enroll.NewToken(hex.EncodeToString(pin[:]))
	c.reset(store.NewIncarnation(), 1)

	handler := enroll.Handler(enroll.HandlerConfig{Redeem: c.redeem, Bundle: c.bundle, Log: discard()})
	c.web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(c.clock).UTC().Format(http.TimeFormat))
		handler.ServeHTTP(w, r)
	}))
	c.web.TLS = &tls.Config{Certificates: []tls.Certificate{c.server}}
	c.web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.web.Listener.Close()
	c.web.Listener = tunneltest.ListenWhereUDPIsFree(t)
	c.web.StartTLS()
	c.open()
	t.Cleanup(func() { c.close(); c.web.Close() })
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (c *center) sign(template *x509.Certificate, public any, life time.Duration) *x509.Certificate {
	parent := c.ca
	if parent == nil {
		parent = template
	}
	c.signed++
	template.SerialNumber = big.NewInt(int64(c.signed))
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Second), time.Now().Add(life)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		c.t.Fatal(err)
	}
	return cert
}

func (c *center) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.Raw})
}

// signAgent signs a request for exactly one name.
func (c *center) signAgent(csr []byte, name string) ([]byte, error) {
	block, _ := pem.Decode(csr)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	cert := c.sign(&x509.Certificate{
		Subject: pkix.Name{
			CommonName:   name,
			Organization: []string{enroll.Organization},
		}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: "skerry", Host: "center", Path: "/targets/" + name}},
	}, request.PublicKey, c.life)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), nil
}

func (c *center) redeem(_ context.Context, r enroll.JoinRequest) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.TokenID != c.token.ID || r.SecretHash != c.token.Hash():
		return nil, enroll.ErrTokenUnknown
	case c.used:
		return nil, enroll.ErrTokenUsed
	}
	c.used = true
	return c.signAgent(r.CSR, r.Name)
}

// open opens the QUIC listener on the port of the enrolment.
func (c *center) open() {
	var packet net.PacketConn
	eventually(c.t, "the former socket has left the port", func() (free bool) { // its last reader closes it
		var err error
		packet, err = net.ListenPacket("udp", c.web.Listener.Addr().String())
		return err == nil
	})
	pool := x509.NewCertPool()
	pool.AddCert(c.ca)
	listener, err := quic.Listen(quic.ListenConfig{Packet: packet, Log: discard(), TLS: &tls.Config{
		Certificates: []tls.Certificate{
			c.server,
		}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, NextProtos: []string{tunnel.ALPN},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := listener.Accept(ctx)
			if err != nil {
				return
			}
			sessions.Go(func() { ignore(tunnel.ServeParent(ctx, conn, c.config())) })
		}
	})
	c.shut = sync.OnceFunc(func() {
		cancel()
		sessions.Wait()
		ignore(listener.Close())
		ignore(packet.Close())
	})
}

func (c *center) close() { c.shut() }

// hold makes the sessions that begin from now on tell what their sites hold, and take orders.
func (c *center) hold() (<-chan delta.Held, *tunnel.Commands) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.orders = make(chan delta.Held, 10), tunnel.NewCommands(1)
	return c.held, c.orders
}

// awaitHeld returns what an agent says when it has decided not to obey the center.
func awaitHeld(t *testing.T, held <-chan delta.Held) delta.Held {
	t.Helper()
	select {
	case h := <-held:
		return h
	case <-time.After(time.Minute):
		t.Fatal("the center is not held")
		return delta.Held{}
	}
}

func (c *center) config() tunnel.ParentConfig {
	c.mu.Lock()
	held, orders := c.held, c.orders
	c.mu.Unlock()
	cfg := tunneltest.Parent{
		OnHeld: func(h delta.Held) {
			if held != nil {
				held <- h
			}
		},
		OnAdmit: func(_ context.Context, who tunnel.Identity, _ tunnel.Hello) (tunnel.Admission, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if who.Target != "paris" {
				return tunnel.Admission{}, &tunnel.Refused{Reason: "Unknown", Message: "no such target"}
			}
			return tunnel.Admission{
				Feed:    c.feed,
				Inbox:   c.inbox,
				Welcome: tunnel.Welcome{Site: "site-1", Incarnation: c.feed.Head().Incarnation},
			}, nil
		},
		OnSign: func(who tunnel.Identity, csr []byte) ([]byte, []byte, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			chain, err := c.signAgent(csr, who.Target)
			return chain, c.bundle(), err
		},
	}.Config()
	cfg.Commands, cfg.Log, cfg.Tracer = orders, discard(), c.follow.To("paris")
	return cfg
}

// reset begins a new life of the center's data, or a restored one.
func (c *center) reset(incarnation store.Incarnation, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.bodies)
	c.revision = revision
	c.feed = store.NewFeed(incarnation, revision, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		e, ok := c.bodies[k]
		if !ok {
			return nil, 0, store.ErrGone
		}
		return e.Body, e.Generation, nil
	})
}

// forgetDeletions is a restart of the center, as far as agents can tell: its feed knows what is
// wanted and nothing that was deleted before.
func (c *center) forgetDeletions() {
	c.mu.Lock()
	bodies, revision, incarnation := maps.Clone(c.bodies), c.revision, c.feed.Head().Incarnation
	c.mu.Unlock()
	c.reset(incarnation, revision)
	var changes []store.Change
	c.mu.Lock()
	for k, e := range bodies {
		c.bodies[k] = e
		changes = append(changes, store.Change{Key: k, Hash: e.Hash, Generation: e.Generation})
	}
	feed := c.feed
	c.mu.Unlock()
	feed.Apply(revision, changes...)
}

// place changes the desired feed in one decision.
func (c *center) place(entries ...store.Entry) {
	var changes []store.Change
	c.mu.Lock()
	entries = c.with.add(entries)
	for _, e := range entries {
		if e.Tombstone {
			delete(c.bodies, e.Key)
		} else {
			c.bodies[e.Key] = e
		}
		changes = append(changes, store.Change{Key: e.Key, Hash: e.Hash, Generation: e.Generation})
	}
	c.revision++
	feed, revision := c.feed, c.revision
	c.mu.Unlock()
	feed.Apply(revision, changes...)
}

// reported returns the report that the center has of a key.
func (c *center) reported(k store.Key) *store.Report {
	e, ok, err := c.inbox.Get(k)
	if err != nil {
		c.t.Fatal(err)
	}
	r := &store.Report{}
	if !ok || e.Tombstone || json.Unmarshal(e.Body, r) != nil {
		return nil
	}
	return r
}
