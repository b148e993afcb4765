package sessions

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// center is a server with what it stands in.
type center struct {
	t           testing.TB
	api         *fakeAPI
	config      *rest.Config
	incarnation store.Incarnation
	server      *authority
	agents      *authority
	signed      atomic.Int32
	life        time.Duration // of the certificates that it signs
	feed        *store.Feed
	inbox       *storetest.Memory
	objects     atomic.Int32
	unkept      atomic.Int32
	packet      net.PacketConn
	stream      *tunneltest.Port
	roll        string
	onWake      func([]byte)
	relay       *tunneltest.Relay // sites dial through it
	tcp         bool              // sites dial over TCP
	sessions    *Server
	authorities *fakeAuthorities
	above       []store.Incarnation
	rename      Renamer
	headers     http.Header       // of joins
	confirmed   chan confirmation // nil for nobody
	dialled     func(tunnel.Conn) // is told of a site's connections; nil is nobody
}

func newCenter(t testing.TB) *center {
	t.Helper()
	c := &center{t: t, api: newFakeAPI(), incarnation: store.NewIncarnation(), server: newAuthority(t),
		agents: newAuthority(t), life: time.Hour}
	c.authorities = newFakeAuthorities(c)
	c.config = c.api.serve(t)
	c.feed = store.NewFeed(c.incarnation, 1, func(_ context.Context, k store.Key) ([]byte, int64,
		error) {
		return body(k), 1, nil
	})
	c.inbox = storetest.NewMemory()
	c.inbox.AcceptNewIncarnation = true
	c.roll = filepath.Join(t.TempDir(), "roll")
	c.restart()
	return c
}

func body(k store.Key) []byte { return []byte(`{"name":"` + k.Name + `"}`) }

// place puts an object onto the feed of all targets.
func (c *center) place(i int) {
	k := storetest.Key(i)
	c.feed.Apply(int64(i+2), store.Change{Key: k, Hash: store.HashBody(1, body(k)), Generation: 1})
}

// restart makes a new server on the same API, as a restart of the center would.
func (c *center) restart() *Server {
	own := c.server.issue(c.t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), tunneltest.Loopback()},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, newKey(c.t), time.Hour)
	parts := &stub{
		feed:   func() *store.Feed { return c.feed },
		inbox:  func() store.Sink { return c.inbox },
		count:  func() int { return int(c.objects.Load()) },
		unkept: func() int { return int(c.unkept.Load()) },
		above:  func() []store.Incarnation { return c.above },
		confirmed: func(target string, revision int64) {
			if c.confirmed != nil {
				c.confirmed <- confirmation{target, revision}
			}
		},
	}
	c.sessions = New(parts.in(Config{
		API: func() *rest.Config { return c.config }, Incarnation: c.incarnation, Version: "v1", Packet: c.packet,
		Stream:      c.streams(),
		Credentials: credentials{c, &own}, Authorities: c.authorities, ResetKey: [32]byte{1}, ConnectedFile: c.roll,
		Rename: c.rename,
		Log:    slog.New(slog.DiscardHandler),
	}))
	c.api.follow(c.sessions)
	return c.sessions
}

// streams is nil, and no pointer that is nil, while the server is closed.
func (c *center) streams() net.Listener {
	if c.stream == nil {
		return nil
	}
	return c.stream
}

// credentials are those of a center.
type credentials struct {
	*center
	own *tls.Certificate
}

// Certificate implements Credentials.
func (c credentials) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.own, nil }

// Sign implements Credentials. It is strict like the center's own authority.
func (c credentials) Sign(csr []byte, name string) ([]byte, error) {
	block, _ := pem.Decode(csr)
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	if err := req.CheckSignature(); err != nil {
		return nil, err
	}
	subject := pkix.Name{CommonName: name, Organization: []string{enroll.Organization}}
	if req.Subject.String() != subject.String() {
		return nil, errors.New("another subject")
	}
	c.signed.Add(1)
	return c.agents.sign(c.t, agentTemplate(name, c.incarnation), req.PublicKey, c.life), nil
}

func agentTemplate(name string, center store.Incarnation) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{enroll.Organization}},
		URIs:        []*url.URL{{Scheme: "skerry", Host: center.String(), Path: "/targets/" + name}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// token makes a join token.
func (c *center) token(labels map[string]string, ttl time.Duration) enroll.Token {
	c.t.Helper()
	text, err := CreateToken(c.t.Context(), c.root(), TokenOptions{Labels: labels, TTL: ttl})
	must(c.t, err)
	token, err := enroll.ParseToken(text)
	must(c.t, err)
	return token
}

// root is the configuration of an admin: a file with the center's CA, and not the loopback.
func (c *center) root() *rest.Config {
	return &rest.Config{Host: c.config.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: c.server.pem()}}
}

// open runs the server over QUIC until the test ends or close is called.
func (c *center) open() (stop func()) {
	c.t.Helper()
	var err error
	address := tunneltest.AnyPort()
	if c.packet != nil {
		address = c.packet.LocalAddr().String()
	}
	c.packet, err = net.ListenPacket("udp", address)
	must(c.t, err)
	streams := tunneltest.AnyPort()
	if c.stream != nil {
		streams = c.stream.Addr().String()
	}
	l, err := net.Listen("tcp", streams)
	must(c.t, err)
	c.stream = &tunneltest.Port{Listener: l}
	server := c.restart()
	c.stream.Config = server.TLSConfig()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must(c.t, <-done)
		c.packet.Close()
		l.Close()
	})
	c.t.Cleanup(stop)
	return stop
}

// site is one that wants in.
type site struct {
	name   string
	labels map[string]string
	key    *ecdsa.PrivateKey
	chain  []byte
}

func newSite(t testing.TB, name string) *site { return &site{name: name, key: newKey(t)} }

func (s *site) csr(t testing.TB) []byte { return request(t, s.key, s.name) }

func request(t testing.TB, key *ecdsa.PrivateKey, name string) []byte {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: []string{enroll.Organization}}}, key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// answered is what came back from an enrolment.
type answered struct {
	status        int
	Code, Message string
	Chain, Bundle []byte
}

// post sends a join as it is on the wire.
func (c *center) post(server *Server, id, secret, name string, labels map[string]string, csr []byte) answered {
	c.t.Helper()
	data, err := json.Marshal(map[string]any{"tokenID": id, "secret": secret, "name": name, "labels": labels, "csr": csr})
	must(c.t, err)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, enroll.Path, bytes.NewReader(data))
	maps.Copy(r.Header, c.headers)
	server.Handler().ServeHTTP(w, r)
	out := answered{status: w.Code}
	must(c.t, json.Unmarshal(w.Body.Bytes(), &out))
	if (out.status == http.StatusOK) != (len(out.Chain) > 0) {
		c.t.Errorf("HTTP %d with a chain of %d bytes", out.status, len(out.Chain))
	}
	return out
}

// join joins a site with a token.
func (c *center) join(s *site, token enroll.Token) answered {
	c.t.Helper()
	out := c.post(c.sessions, token.ID, token.Secret, s.name, s.labels, s.csr(c.t))
	s.chain = out.Chain
	return out
}

// joined is a site that has joined with a token of its own.
func (c *center) joined(name string) *site {
	c.t.Helper()
	s := newSite(c.t, name)
	if out := c.join(s, c.token(nil, time.Hour)); out.status != http.StatusOK {
		c.t.Fatalf("join: %+v", out)
	}
	return s
}

// link is a site's session.
type link struct {
	desired *storetest.Memory
	says    *tunnel.Conditions
	welcome chan tunnel.Welcome
	ended   chan error
	stop    func()
}

// connect runs a session of a site, with hooks that a test sets.
func (c *center) connect(s *site, adjust ...func(*tunnel.ChildConfig)) *link {
	c.t.Helper()
	l := &link{desired: storetest.NewMemory(), says: &tunnel.Conditions{},
		welcome: make(chan tunnel.Welcome, 1), ended: make(chan error, 1)}
	cfg := tunnel.ChildConfig{Hello: tunnel.Hello{AgentVersion: "v1.2", KubernetesVersion: "v1.36"},
		Desired: l.desired, Conditions: l.says,
		Reported: store.NewFeed(store.NewIncarnation(), 0,
			func(context.Context, store.Key) ([]byte, int64, error) { return nil, 0, store.ErrGone }),
		OnWelcome: func(w tunnel.Welcome) { l.welcome <- w }}
	for _, f := range adjust {
		f(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	dialled := c.dialled
	var running sync.WaitGroup
	running.Go(func() {
		conn, err := c.dial(ctx, s)
		if err == nil {
			if dialled != nil {
				dialled(conn)
			}
			err = tunnel.ServeChild(ctx, conn, cfg)
		}
		l.ended <- err
	})
	c.t.Cleanup(func() { cancel(); running.Wait() })
	return l
}

func (c *center) dial(ctx context.Context, s *site) (tunnel.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	block, _ := pem.Decode(s.chain)
	roots := x509.NewCertPool()
	roots.AddCert(c.server.cert)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes},
		PrivateKey: s.key}}, RootCAs: roots,
		NextProtos: []string{tunnel.ALPN}}
	if c.tcp {
		return tcp.Dial(ctx, c.stream.Addr().String(), tcp.DialConfig{TLS: config})
	}
	address := c.packet.LocalAddr()
	if c.relay != nil {
		address = c.relay.Addr()
	}
	return quic.Dial(ctx, address.String(), quic.DialConfig{Log: slog.New(slog.DiscardHandler), TLS: config,
		OnWake: c.onWake})
}

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	a := &authority{key: newKey(t)}
	a.cert = &x509.Certificate{Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	block, _ := pem.Decode((&authority{a.cert, a.key}).sign(t, a.cert, a.key.Public(), 24*time.Hour))
	var err error
	a.cert, err = x509.ParseCertificate(block.Bytes)
	must(t, err)
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// sign issues a certificate that ends after life, which may be in the past.
func (a *authority) sign(t testing.TB, template *x509.Certificate, public any, life time.Duration) []byte {
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-48*time.Hour), time.Now().Add(life)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a *authority) issue(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey,
	life time.Duration) tls.Certificate {
	block, _ := pem.Decode(a.sign(t, template, key.Public(), life))
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within waits for a condition. patience is how long a test waits for what must come; the limit is
// for broken code, not for slow machines.
const patience = time.Minute

func within(t testing.TB, what string, is func() bool) {
	t.Helper()
	storetest.Eventually(t, what, is)
}

func got[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("waited %s for %s", patience, what)
	}
	return v
}
