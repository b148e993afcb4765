package sessions

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/boottime"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/traffic"
)

// Server lets agents in. It is also a change handler of the kube API: it knows the SyncTargets from
// the writes it is handed.
type Server struct {
	cfg        Config
	client     func() (dynamic.Interface, error)
	statuses   func() (rest.Interface, error) // to write those of SyncTargets
	targets    *targets
	subtree    *subtreeStatus
	meter      *traffic.Meter
	usage      *usage
	shared     *delta.Shared
	connected  *connectedSites
	links      *data.Links
	budget     *mux.Budget // of the windows of links
	admissions *admissionLimit
	progress   *progresses
	leases     *leases
	flaps      *flaps
	renames    *renames
	joins      chan struct{} // has one in it while a site is let in
	awaited    atomic.Bool   // who comes back soon after the start of this center has come back
	waited     atomic.Bool   // this center has waited for the targets that were connected before it started

	mu            sync.Mutex
	sessions      map[string]*session
	unknownAgents *unknownAgents
	unwanted      map[string]*tunnel.Refused // targets that were refused for good when they came last
	left          map[string]time.Time       // when targets were last heard of whose session ended since the start
	barriers      map[string]int64           // what targets are to confirm, see RequestBarrier
	request       *v1alpha1.AuthoritiesRequest
	forget        []string // names that an admin wants off the certificate

	heartbeats heartbeats
	rotation   chan struct{} // wakes rotate
	told       string        // the status of the authorities that was written; rotate's own
}

// New returns a Server that accepts nobody before Run.
func New(cfg Config) *Server {
	meter, strangers := traffic.New(), &unknownAgents{names: map[string]v1alpha1.UnknownAgent{}}
	srv := &Server{
		cfg:           cfg,
		joins:         make(chan struct{}, 1),
		targets:       newTargets(),
		subtree:       newSubtreeStatus(),
		meter:         meter,
		usage:         newUsage(),
		shared:        delta.NewShared(),
		connected:     newConnectedSites(cfg.ConnectedFile, cfg.Log),
		admissions:    newAdmission(),
		progress:      newProgresses(),
		leases:        newLeases(cfg.Leases),
		flaps:         newFlaps(),
		renames:       newRenames(),
		sessions:      map[string]*session{},
		unknownAgents: strangers,
		unwanted:      map[string]*tunnel.Refused{},
		left:          map[string]time.Time{},
		barriers:      map[string]int64{},
		rotation:      make(chan struct{}, 1),
		client:        sync.OnceValues(func() (dynamic.Interface, error) { return dynamic.NewForConfig(cfg.API()) }),
		statuses: sync.OnceValues(
			func() (rest.Interface, error) { return rest.UnversionedRESTClientFor(dynamic.ConfigFor(cfg.API())) },
		),
	}
	connections := data.NewMetrics()
	srv.budget = mux.NewBudget(dataBudget)
	srv.links = srv.newLinks(connections)
	if cfg.Metrics != nil {
		cfg.Metrics.MustRegister(connections, meter, strangers.count(), healthMetrics{srv})
	}
	return srv
}

// Rest gives back memory that was of use for a moment only.
func (srv *Server) Rest() { srv.shared.Rest() }

// Handler serves enrolment, at enroll.Path and before authentication.
func (srv *Server) Handler() http.Handler {
	return enroll.Handler(enroll.HandlerConfig{Redeem: srv.redeem, Bundle: srv.cfg.Authorities.Bundle,
		Examine: srv.examine, Version: srv.cfg.Version,
		Knocked: func(name, from string) { srv.unknownAgent(name, from, "WrongAuthority") }, Log: srv.cfg.Log})
}

// Run accepts agents until ctx ends. Then their sessions are closed, and they come back by
// themselves when the center is there again.
func (srv *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dataOverQUIC, dataOverTCP := srv.takes(ctx)
	listener, err := quic.Listen(
		quic.ListenConfig{Packet: srv.cfg.Packet, TLS: srv.TLSConfig(), ResetKey: &srv.cfg.ResetKey, Data: dataOverQUIC,
			Resolve: srv.Resolve, Metrics: srv.cfg.Metrics, Log: srv.cfg.Log},
	)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	defer listener.Close()
	streams := tcp.Listen(
		tcp.ListenConfig{Listener: srv.cfg.Stream, Data: dataOverTCP, Resolve: srv.Resolve, Log: srv.cfg.Log},
	)
	defer streams.Close()
	before := srv.connected.before()
	srv.cfg.Leases.Begin(boottime.Now())
	var running sync.WaitGroup
	for _, accept := range []func(context.Context) (tunnel.Conn, error){listener.Accept, streams.Accept} {
		running.Go(func() { cancel(srv.accept(ctx, accept)) })
	}
	running.Go(func() {
		<-ctx.Done()
		srv.links.Close()
	})
	running.Go(func() { srv.runStatusWriter(ctx) })
	running.Go(func() { srv.count(ctx) })
	running.Go(func() { srv.rotate(ctx) })
	running.Go(func() { srv.rename(ctx) })
	running.Go(func() { srv.publishUnknownAgents(ctx) })
	running.Go(func() {
		srv.connected.wakeMissing(ctx, before, func(target string) bool { return srv.session(target) != nil },
			func(to net.Addr, target string) error { return listener.Wake(to, wakeSecret(srv.cfg.ResetKey, target)) })
	})
	running.Go(func() { srv.connected.run(ctx) })
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// accept serves the agents that come one way.
func (srv *Server) accept(ctx context.Context, next func(context.Context) (tunnel.Conn, error)) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := next(ctx)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close(tunnel.ErrDraining)
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept an agent: %w", err)
		}
		srv.cfg.Center.Connected()
		running.Add(1)
		srv.serve(ctx, conn, running.Done)
	}
}

// TLSConfig asks for an agent's certificate, which one of this center's authorities must have
// signed; whether its holder still belongs here is asked when the session begins, so that it can be
// told. One that has expired is let in too: its session can do nothing but renew it, so that a site
// that was cut off for long comes back by itself.
func (srv *Server) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{tunnel.ALPN, tunnel.DataALPN},
		GetCertificate:         srv.cfg.Credentials.Certificate,
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true, // agents resume no session
		VerifyConnection:       srv.verify,
	}
}
