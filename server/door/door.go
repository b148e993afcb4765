package door

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
)

// Config is what the door needs of the center.
type Config struct {
	// API returns a configuration for the root space with the center's own rights. It is called when the API serves.
	API         func() *rest.Config
	Incarnation store.Incarnation
	Version     string
	// Packet is the UDP socket for QUIC.
	Packet net.PacketConn
	// Certificate proves the center; AgentCA is the authority of agents' certificates.
	Certificate tls.Certificate
	AgentCA     *x509.Certificate
	// ResetKey outlives a restart, so that agents notice one at once.
	ResetKey [32]byte
	// Bundle is the PEM of the authorities that agents are to trust.
	Bundle []byte
	// Sign issues a certificate for a request and a name.
	Sign func(csr []byte, name string) (chainPEM []byte, err error)
	// Feed is the desired feed of a target, nil while the center does not know the target yet.
	Feed func(target string) *store.Feed
	// Inbox keeps what a target reports.
	Inbox func(target string) (store.Sink, error)
	// Objects counts what is placed on a target.
	Objects func(target string) int
	Log     *slog.Logger
}

// Door lets agents in. It is also a change handler of the kube API: it knows the SyncTargets from the writes it is handed.
type Door struct {
	cfg     Config
	client  func() (dynamic.Interface, error)
	targets *targets

	mu       sync.Mutex
	sessions map[string]*session
	left     map[string]bool // targets whose session ended since the start
}

// New returns a door that is still closed; Run opens it.
func New(cfg Config) *Door {
	return &Door{cfg: cfg, targets: newTargets(), sessions: map[string]*session{}, left: map[string]bool{},
		client: sync.OnceValues(func() (dynamic.Interface, error) { return dynamic.NewForConfig(cfg.API()) })}
}

// Handler serves enrolment, at enroll.Path and before authentication.
func (d *Door) Handler() http.Handler {
	return enroll.Handler(enroll.HandlerConfig{Redeem: d.redeem, Bundle: d.cfg.Bundle, Log: d.cfg.Log})
}

// Run accepts agents until ctx ends. Then their sessions are closed, and they come back by themselves when the center is there again.
func (d *Door) Run(ctx context.Context) error {
	listener, err := quic.Listen(quic.ListenConfig{Packet: d.cfg.Packet, TLS: d.tls(), ResetKey: &d.cfg.ResetKey, Log: d.cfg.Log})
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	defer listener.Close()
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { d.keepStatus(ctx) })
	for {
		conn, err := listener.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept an agent: %w", err)
		}
		running.Go(func() { d.serve(ctx, conn) })
	}
}

// tls asks for an agent's certificate and compares the whole of it: authority, subject, center. One that has expired is let in too: its session
// can do nothing but renew it, so that a site that was cut off for long comes back by itself.
func (d *Door) tls() *tls.Config {
	agents := x509.NewCertPool()
	agents.AddCert(d.cfg.AgentCA)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{tunnel.ALPN}, Certificates: []tls.Certificate{d.cfg.Certificate},
		ClientAuth: tls.RequireAnyClientCert, ClientCAs: agents,
		VerifyConnection: func(s tls.ConnectionState) error {
			leaf := s.PeerCertificates[0]
			if err := enroll.VerifyAgent(leaf, agents); err != nil {
				return err
			}
			if _, err := enroll.IdentityOf(leaf); err != nil {
				return err
			}
			if enroll.CenterOf(leaf) != d.cfg.Incarnation.String() {
				return errors.New("the certificate belongs to another center")
			}
			return nil
		},
	}
}
