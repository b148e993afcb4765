package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/accounttokens"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/backup"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/collect"
	"skerry.dev/skerry/server/delivery"
	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/gateway"
	"skerry.dev/skerry/server/gc"
	"skerry.dev/skerry/server/listen"
	"skerry.dev/skerry/server/namespacedefaults"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/policies"
	"skerry.dev/skerry/server/progress"
	"skerry.dev/skerry/server/replicas"
	"skerry.dev/skerry/server/reports"
	"skerry.dev/skerry/server/services"
	"skerry.dev/skerry/server/sessions"
	"skerry.dev/skerry/server/space"
	"skerry.dev/skerry/server/streams"
	"skerry.dev/skerry/server/summary"
	"skerry.dev/skerry/server/upsync"
	"skerry.dev/skerry/server/volumes/copier"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
	"skerry.dev/skerry/tunnel/lease"
	"skerry.dev/skerry/tunnel/metrics"
	"skerry.dev/skerry/tunnel/tracing"
	"skerry.dev/skerry/tunnel/upward"
)

// Config is what a center needs.
type Config struct {
	// DataDir holds everything that must survive a restart; it is made with mode 0700.
	DataDir string
	// Datastore is what several replicas of the center share, a PostgreSQL or an etcd cluster (see
	// kine.Config); empty is a file in DataDir. With it goes SecretFile, which holds a secret that
	// all replicas have, and under which they share their keys there.
	Datastore, SecretFile string
	// DatastoreFiles are those of TLS with etcd.
	DatastoreFiles etcd.Files
	// ReplicaAddress is HOST:PORT by which the other replicas reach this one; empty means Listen,
	// or the address of the default route where that is all addresses.
	ReplicaAddress string
	// Listen is HOST:PORT: TCP for the kube API, enrolment and agents without UDP, UDP for all
	// other agents.
	Listen string
	// Advertise are further host names and addresses that the center is reached by. They go into its
	// certificate, and stay there until an admin takes them off.
	Advertise []string
	// CertificateLife is how long agents' certificates live; 0 means DefaultCertificateLife.
	CertificateLife time.Duration
	// MetricsListen is HOST:PORT for metrics over plain HTTP, besides /metrics of root for its
	// admins. Empty means none.
	MetricsListen string
	// AuthenticationConfig is a file of the form that kube-apiserver's option of this name has.
	AuthenticationConfig string
	// Audit says which audit log is written. An empty LogPath means audit/audit.log in DataDir,
	// NoAuditLog means none.
	Audit audit.Config
	// EncryptionKeyFile holds the keys that encrypt Secrets in the datastore; empty means the
	// systemd credential skerry_encryption-key, or else a file that the center makes beside its
	// other keys.
	EncryptionKeyFile string
	// EncryptionProviderConfig is a file with an upstream EncryptionConfiguration; empty means
	// none.
	EncryptionProviderConfig string
	// SpacesDomain is the domain below which each space is served at a host of its own,
	// NAME.DOMAIN; empty means by path alone. MoverImage is that of MoverImageFlag.
	SpacesDomain, MoverImage string
	// WebhookAllow and WebhookDeny are networks in which the webhooks of spaces may be, and may
	// not, beyond what package outbound says.
	WebhookAllow, WebhookDeny []string
	// Tracer gets the spans of requests and of what they cause; nil means that nothing is traced.
	Tracer trace.TracerProvider
	// Backup says when the center backs itself up, and where to.
	Backup backup.Plan
	// Ingress is the center's own entry from outside.
	Ingress Ingress
	// Parent opens streams to the parent of a relay; nil where there is none.
	Parent upward.Opener
	// ParentLease is the lease that binds a relay, which limits what it may promise to its targets;
	// nil where there is no parent.
	ParentLease *lease.Published
	// Version is the version of this binary, Revision the commit that it was built of.
	Version, Revision string
	Log               *slog.Logger
}

func (c Config) build() metrics.Build {
	return metrics.Build{Version: c.Version, Revision: c.Revision}
}

// DefaultCertificateLife is how long agents' certificates live.
const DefaultCertificateLife = pki.DefaultAgentLife

// Server is a center. Open one with New, then call Run once.
type Server struct {
	cfg Config
	url string
	// local is HOST:PORT by which this machine reaches the center, everywhere whether it listens on all
	// addresses.
	local      string
	everywhere bool
	keys       *pki.PKI
	store      *kine.Store
	encrypted  *encryption.Encryption
	api        *apiserver.Server
	spaces     *space.Controller
	delivery   *delivery.Delivery
	summary    *summary.Summary
	progress   *progress.Progress
	collect    *collect.Collect
	upsync     *upsync.Upsync
	gc         *gc.Collector
	defaults   *namespacedefaults.Controller
	tokens     *accounttokens.Controller
	policies   *policies.Controller
	sets       *sets
	sessions   *sessions.Server
	sites      *streams.Streams
	gateway    *gateway.Gateway
	services   *services.Services
	entry      *entry // nil where there is none
	reports    *reports.Store
	outages    *catalog.Outages
	leases     *catalog.Leases
	backups    *backup.Regular // nil where none are scheduled
	pacing     gcPacing
	volumes    *copier.Copier // nil without Config.MoverImage
	lead       *leadership    // nil for a center of one replica
	shared     *sharedKeys    // nil likewise
	identity   *pki.Replica
	replicas   *replicas.Replicas
	metrics    *metrics.Registry
	trace      *tracing.Follower // nil without Config.Tracer
	scrape     *metrics.Listener // nil without MetricsListen
	port       *listen.Port
	centers    atomic.Pointer[[]store.Incarnation] // above this one
	open       atomic.Bool                         // the sessions serves agents
	ready      chan struct{}
	readyOnce  sync.Once
	starting   *starting
	closers    []func() error
}

// New opens the center's data and its sockets. Everything that can be refused for a wrong
// configuration is refused here.
func New(cfg Config) (_ *Server, err error) {
	s := &Server{cfg: cfg, metrics: metrics.New(cfg.build()), ready: make(chan struct{}), starting: newStarting(cfg.Log),
		trace: tracing.New(cfg.Tracer), outages: catalog.NewOutages(), leases: catalog.NewLeases()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w; run as a user who may, or name another with --data-dir", err)
	}
	s.starting.on("the lock of " + cfg.DataDir)
	unlock, err := lock(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, unlock)
	if err := keyfile.Protect(cfg.Log, cfg.DataDir); err != nil {
		return nil, err
	}
	if err := s.openAudit(); err != nil {
		return nil, err
	}
	s.starting.on("the data: the database and the keys")
	if err := s.openData(); err != nil {
		return nil, err
	}
	s.starting.on("its parts to be made")
	tcp, udp, err := bind(cfg.Listen)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, quietly(tcp.Close), quietly(udp.Close))
	if cfg.MetricsListen != "" {
		if s.scrape, err = metrics.Listen(cfg.MetricsListen, cfg.Log.With("part", "metrics")); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, s.scrape.Close)
	}
	hosts := reachedBy(tcp.Addr(), cfg)
	s.url, s.local, s.everywhere = "https://"+hosts[0], localAddress(tcp.Addr()), unspecified(tcp.Addr())
	names, err := certificateHosts(withoutPorts(hosts), cfg.SpacesDomain)
	if err != nil {
		return nil, err
	}
	certificate, err := s.advertise(names)
	if err != nil {
		return nil, err
	}
	if s.store.Shared() {
		address, err := replicaAddress(cfg.ReplicaAddress, tcp.Addr())
		if err != nil {
			return nil, err
		}
		s.identity = s.keys.Replica(s.store.Incarnation())
		s.lead = newLeadership(replicaIdentity(s.url, address),
			func() *rest.Config { return s.api.Loopback(v1alpha1.RootSpace) }, cfg.Log.With("part", "election"))
	}
	if err := s.wire(certificate, tcp, udp); err != nil {
		return nil, err
	}
	return s, s.writeAdminKubeconfig()
}

// wire makes the parts and tells each of the others what it needs of them.
func (s *Server) wire(certificate *pki.Serving, tcp net.Listener, udp net.PacketConn) (err error) {
	var others func() *tls.Config
	if s.lead != nil {
		others = sync.OnceValue(s.identity.Server)
	}
	s.port = listen.New(listen.Config{
		Listener: tcp, Log: s.cfg.Log.With("part", "port"),
		API:    sync.OnceValue(func() *tls.Config { return s.api.TLSConfig() }), // one for all, so that sessions are resumed
		Agents: s.agentsWhileOpen(sync.OnceValue(func() *tls.Config { return s.sessions.TLSConfig() })), Replicas: others,
	})
	webhooks, err := outboundRules(s.cfg)
	if err != nil {
		return err
	}
	set, writer := space.NewSet(), newSpaceClient(s.asLeader)
	s.reports = s.newReports()
	s.closers = append(s.closers, s.reports.Close)
	s.delivery = delivery.New(delivery.Config{
		API: writer, Records: recordStore{s}, Webhook: s.callHook, Volumes: s.copier(writer),
		// The summary is made later than the delivery: nothing calls these before both run.
		Config: desired.Config{
			Incarnation: s.store.Incarnation(), Eras: s.store.Eras(), Log: s.cfg.Log.With("part", "delivery"),
			Refuse: s.refuse, Placement: s.placementChanged, Spread: s.pacing.gc.spread,
			Progress: s.reports.Progress,
			Event:    func(e placement.Event) { s.summary.Event(e) },
			Moved:    func(target string) { s.sessions.Recount(target) },
			Upsync:   func(rule store.Key) { s.upsync.Moved(rule) },
		},
		Leases:    s.leases,
		Confirm:   func(target string, revision int64) { s.sessions.RequestBarrier(target, revision) },
		Condition: func(k store.Key, c placement.Condition) { s.summary.SetCondition(k, c) },
	})
	s.pacing.rest = func() { s.reports.Rest(); s.sessions.Rest(); s.delivery.Rest(); s.store.ReleaseMemory() }
	s.summary = summary.New(summary.Config{
		API: writer, Reports: s.reports, Delivery: s.delivery, References: s.delivery, Outages: s.outages,
		Log: s.cfg.Log.With("part", "summary"),
	})
	s.progress = progress.New(progress.Config{API: writer, Reports: s.reports, Placements: s.delivery, Outages: s.outages,
		Log: s.cfg.Log.With("part", "progress")})
	s.collect = collect.New(collect.Config{API: writer, Reports: s.reports, Delivery: s.delivery, Outages: s.outages,
		Log: s.cfg.Log.With("part", "collect")})
	s.upsync = upsync.New(upsync.Config{
		API: writer, Reports: s.reports, Delivery: s.delivery, Room: func(k store.Key) error { return s.api.Room(k) },
		Event: s.summary.Event, Log: s.cfg.Log.With("part", "upsync"),
	})
	s.gc = gc.New(gc.Config{API: writer, Keeps: s.delivery.KeepsDependents, Log: s.cfg.Log.With("part", "gc")})
	s.defaults = namespacedefaults.New(namespacedefaults.Config{API: newSpaceClient(func(space string) *rest.Config {
		return s.api.Loopback(space)
	}), Has: set.Has, Bundle: s.keys.Bundle, Log: s.cfg.Log.With("part", "namespacedefaults"),
		Namespaces: func(ctx context.Context, space string) ([]string, error) { return s.api.Namespaces(ctx, space) }})
	s.tokens = accounttokens.New(accounttokens.Config{API: writer, Bundle: s.keys.Bundle,
		Issuer: secretTokens{func() *apiserver.Server { return s.api }}, Log: s.cfg.Log.With("part", "accounttokens")})
	s.policies = policies.New(policies.Config{API: writer, Log: s.cfg.Log.With("part", "policies")})
	s.sets = newSets(writer, delivery.ExportedOf(s.delivery), s.cfg.Log)
	s.sessions = sessions.New(sessions.Config{
		API:         func() *rest.Config { return s.asLeader(v1alpha1.RootSpace) },
		Incarnation: s.store.Incarnation(), Version: s.cfg.Version,
		Packet: udp, Stream: s.port.Agents(), Credentials: agentCredentials{certificate, s}, Authorities: s.authorities(),
		ResetKey: s.keys.ResetKey(), ConnectedFile: filepath.Join(s.cfg.DataDir, "roll"),
		Delivery: s.delivery, Inboxes: s.reports, Outages: s.outages, Leases: s.leases, Summary: statusParts{s},
		Center: sessionsCenter{s}, Rename: targetNames{s}, Metrics: s.metrics.Part("center"), Trace: s.trace,
		Log: s.cfg.Log.With("part", "sessions"),
	})
	s.metrics.Part("center").MustRegister(&feedLengths{s.delivery.EachFeed}, healthMetrics{s}, watchMetrics{s},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "skerry_custom_resource_servers", Help: "Spaces whose custom resources are in use: each has a server " +
				"of its own.",
		}, func() float64 { return float64(s.api.CustomServers()) }))
	if s.backups = s.newBackups(); s.backups != nil {
		s.metrics.Part("center").MustRegister(s.backups)
	}
	s.sites = s.newSites()
	s.services = s.newServices()
	if s.entry, err = newEntry(s, writer); err != nil {
		return err
	}
	s.api, err = apiserver.New(apiserver.Config{
		Store: s.store, Encryption: s.encrypted, Listener: s.port.API(), TLS: serverTLS(certificate),
		ClientCAs: s.keys.ClientCAs, RenewCertificate: s.renewClient,
		ServiceAccountKey: s.keys.ServiceAccountKey(), ExternalURL: s.url, Bundle: s.keys.Bundle,
		SpacesDomain: s.cfg.SpacesDomain,
		Spaces:       set, Outbound: webhooks,
		Place:                s.place,
		AuthenticationConfig: s.cfg.AuthenticationConfig, Audit: s.cfg.Audit,
		Used: s.defaults.Use, Stale: s.stale, Elsewhere: s.elsewhere, Departed: s.departed,
		Unreachable: s.unreachable, Sites: s.sites, RTT: s.sessions.RTT, WebhookMetrics: s.webhooks(),
		Reviewer: s.delivery, Services: s.services, Parts: s.delivery.Parts, NoSuchTarget: s.delivery.NoSuchTarget,
		Unserved: s.entry.words,
		PodAPI:   s.delivery.PodAPI, Target: s.delivery.UIDOf, Customizers: s.delivery.Customizers,
		SiteLevels: s.delivery.PodSecurity,
		Collectors: collect.Validate,
		Routes:     map[string]http.Handler{enroll.Path: s.onlyLeader(s.sessions.Handler())},
		Tracer:     s.cfg.Tracer, Trace: s.trace,
		Metrics:     s.metrics.Handler(apiserver.Gatherer()),
		ReadyChecks: s.readyChecks(),
		Log:         s.cfg.Log.With("part", "apiserver"),
	})
	if err != nil {
		return err
	}
	s.gateway = gateway.New(gateway.Config{API: s.api, Runs: s.delivery.RunsAs, Parent: s.cfg.Parent,
		Services: s.services, Log: s.cfg.Log.With("part", "gateway")})
	s.spaces = space.New(space.Config{Set: set, Loopback: s.asLeader, Open: s.api.Loopback, Lead: s.lead.Won(),
		Content: s.api, Log: s.cfg.Log.With("part", "space"),
		URL:     func(name string) string { return request.URL(s.url, name) },
		HostURL: func(name string) string { return apiserver.HostURL(s.url, s.cfg.SpacesDomain, name) }})
	return nil
}

// refuse says of a placed object that the center does not send it, nil that it does.
func (s *Server) refuse(k store.Key, why *store.ReportError) {
	s.summary.Refuse(k, why)
	if at, ok := s.delivery.Located(k); ok {
		for _, t := range at.Targets {
			s.sessions.Recount(t)
		}
	}
}

// URL is the address of the center's root.
func (s *Server) URL() string { return s.url }

// Metrics are the figures of this process. A relay's agent adds its own.
func (s *Server) Metrics() *metrics.Registry { return s.metrics }

// Intend announces that an object of a space is about to be deleted and not lost: this center's
// parent has it go on elsewhere.
func (s *Server) Intend(k store.Key) { s.delivery.Intend(k) }

// Subtree is what a relay tells its parent of the sites below it, with a channel that is closed
// when it is something else.
func (s *Server) Subtree() (*tunnel.SubtreeStatus, <-chan struct{}) { return s.sessions.Subtree() }

// SubtreeOffer is what a relay tells its parent of what the clusters below it offer, nil while that is
// not known.
func (s *Server) SubtreeOffer() *tunnel.ClusterOffer { return s.sessions.SubtreeOffer() }

// LeasesBelow is what a relay tells its parent of the leases of its targets.
func (s *Server) LeasesBelow(terms lease.Terms) (pending, refuses bool) {
	return s.sessions.LeasesBelow(terms)
}

// Loopback is a client configuration for a space that needs no socket: a relay's agent writes
// through it.
func (s *Server) Loopback(space string) *rest.Config { return s.api.Loopback(space) }

func (s *Server) close() error {
	s.starting.end()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}
