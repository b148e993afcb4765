package parent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// center answers as one does, over TCP, and over UDP behind a path with faults.
type center struct {
	t       *testing.T
	ca      *tunneltest.Authority
	at      net.Listener
	path    *tunneltest.Relay
	token   enroll.Token
	version string

	mu      sync.Mutex
	examine func(enroll.JoinRequest) error
	ahead   time.Duration // of its clock
	secure  *tls.Config   // what it shows over TCP in place of its certificate
}

func newCenter(t *testing.T) *center {
	t.Helper()
	both := tunneltest.NewCenter(t)
	c := &center{t: t, ca: both.Server, version: "v1.4.0"}
	c.token = enroll.NewToken(enroll.Fingerprint(c.ca.Cert.RawSubjectPublicKeyInfo))
	handler := enroll.Handler(enroll.HandlerConfig{
		Redeem: func(context.Context, enroll.JoinRequest) ([]byte, error) {
			t.Error("a token was used")
			return nil, enroll.ErrTokenUnknown
		},
		Examine: func(_ context.Context, r enroll.JoinRequest) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.examine != nil {
				return c.examine(r)
			}
			return nil
		},
		Bundle: func() []byte { return c.bundle() }, Version: c.version, Log: slog.New(slog.DiscardHandler),
	})
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		now := time.Now().Add(c.ahead)
		c.mu.Unlock()
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		handler.ServeHTTP(w, r)
	}))
	config := both.TLS(t)
	config.Certificates[0].Certificate = append(config.Certificates[0].Certificate, c.ca.Cert.Raw)
	web.TLS = config.Clone()
	web.TLS.ClientAuth, web.TLS.NextProtos = tls.NoClientCert, nil
	web.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.secure, nil
	}
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Listener.Close()
	web.Listener = tunneltest.ListenWhereUDPIsFree(t)
	c.at = web.Listener
	web.StartTLS()
	t.Cleanup(web.Close)

	packet, err := net.ListenPacket("udp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	key := [32]byte{1}
	listener, err := quic.Listen(quic.ListenConfig{Packet: packet, TLS: config, ResetKey: &key,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close(); packet.Close() })
	c.path = tunneltest.NewRelay(t, c.at.Addr().String(), packet.LocalAddr())
	return c
}

func (c *center) url() string { return "https://" + c.at.Addr().String() }

func (c *center) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.Cert.Raw})
}

// set changes what it answers.
func (c *center) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// config is of a site that is about to join it.
func (c *center) config() Config {
	return Config{Parents: []string{c.url()}, Token: c.token.String(), Dir: c.t.TempDir(), Name: "paris", Version: "v1.4.0"}
}

// joined are the credentials of a site that has joined it, good for so long.
func (c *center) joined(life time.Duration) *enroll.Credentials {
	c.t.Helper()
	both := &tunneltest.Center{Server: c.ca, Agents: tunneltest.NewAuthority(c.t, "agents")}
	both.Agents.Life = life
	dir := c.t.TempDir()
	both.Enrol(c.t, dir, "paris")
	credentials, err := enroll.Load(dir, enroll.NewClock(enroll.ClockState{}))
	if err != nil {
		c.t.Fatal(err)
	}
	return credentials
}

// web answers as some other server does.
func web(t *testing.T, secure bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Listener.Close()
	s.Listener = tunneltest.ListenWhereUDPIsFree(t)
	if !secure {
		s.Start()
	} else {
		ca := tunneltest.NewAuthority(t, "another")
		leaf := ca.Issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "web"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		leaf.Certificate = append(leaf.Certificate, ca.Cert.Raw)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return "https://" + s.Listener.Addr().String()
}
