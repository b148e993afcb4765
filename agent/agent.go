package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"skerry.dev/skerry/agent/apply"
	"skerry.dev/skerry/agent/auditlog"
	"skerry.dev/skerry/agent/deletionguard"
	"skerry.dev/skerry/agent/gateway"
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/observe"
	"skerry.dev/skerry/agent/services"
	"skerry.dev/skerry/agent/streams"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/upgrade"
	"skerry.dev/skerry/agent/uplink"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/datadir"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
	"skerry.dev/skerry/tunnel/metrics"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/tracing"
)

// ErrRefused is returned by Run when a person has to mend something. The join was refused (token,
// CA, clock), or the parent has removed this site or refuses it for good.
var ErrRefused = uplink.ErrRefused

// Config configures an agent. DataDir, Parents and Target are required.
type Config struct {
	// DataDir has agent.db and the credentials. A missing one is created with mode 0700.
	DataDir string
	// Parents are the addresses of the center, https://HOST:PORT each, the preferred one first.
	Parents []string
	// Proxy leads to addresses that are not reached directly; nil uses none.
	Proxy *proxy.Dialer
	// Token joins the site the first time. It is not needed afterwards.
	Token string
	// Name is the name of the SyncTarget. Labels are set on it when the site joins.
	Name   string
	Labels map[string]string
	// Target is where the desired objects go: Cluster or Relay.
	Target target.Access
	// Relay is true for a center that has targets of its own. Intended is called for each object
	// there that is about to be deleted on purpose, so that the center's own targets need not
	// withhold it. It may be nil.
	Relay    bool
	Intended func(store.Key)
	// Below returns what a relay reports about the sites below it, and a channel that is closed at
	// the next change. Nil for a site.
	Subtree func() (*tunnel.SubtreeStatus, <-chan struct{})
	// SubtreeOffer returns what a relay reports of what the clusters below it offer, nil while that is
	// not known. It changes together with Subtree.
	SubtreeOffer func() *tunnel.ClusterOffer
	// Children reaches the targets of a relay, for what the parent asks of what is below it. Nil for
	// a site.
	Children streams.Children
	// Allow is what spaces may do on the cluster beyond the default of package policy. A relay has
	// none: its own sites decide.
	Allow tunnel.Allow
	// Impersonate writes for each space as its own ServiceAccount at the cluster, so that the
	// cluster's RBAC has the last word.
	Impersonate bool
	// SpacesNamespace is the namespace of the cluster that holds those ServiceAccounts; empty means
	// target.DefaultSpaces. Centers that share a cluster need one each.
	SpacesNamespace string
	// GatewayAddress is where this site's pods reach the agent for the APIs of their spaces, see
	// gateway.Config; empty means that it has no gateway. A relay has none.
	GatewayAddress string
	// Upward opens streams to the parent, for a relay's own use; nil makes one.
	Upward *Upward
	// Force joins a cluster that the parent knows as another site already: a copy of that one's.
	Force bool
	// Center is the incarnation of a relay's own data. Above is called with the centers above it.
	// Both are zero for a site.
	Center store.Incarnation
	Above  func([]store.Incarnation)
	Leasing
	// MaxDeleteShare is the share of the objects, in percent, that may be deleted at once without
	// confirmation. 0 is the default of 30; 100 withholds nothing.
	MaxDeleteShare int
	// AuditLog is the file that records what was written to the target. Empty means audit.log in
	// DataDir, NoAuditLog means none.
	AuditLog string
	// MetricsListen is HOST:PORT for metrics over plain HTTP. Empty means none.
	MetricsListen string
	// Metrics is the registry for this agent's figures; nil means one of its own.
	Metrics *metrics.Registry
	// Tracer gets the spans of what is written to the target for a change that the parent follows. Nil
	// means that nothing is traced, and that the parent is not asked to tell.
	Tracer trace.TracerProvider
	// Supervisor is told that the agent runs; nil for none.
	Supervisor Supervisor
	// Version is the version of this binary, Revision the commit that it was built of.
	Version, Revision string
	// Log receives the log; nil discards it.
	Log *slog.Logger

	// shared says that the process has other agents, so that its heap is not set up for this one.
	shared bool
}

// NoAuditLog is the value of Config.AuditLog that disables the audit log.
const NoAuditLog = "none"

// Run runs an agent until ctx ends, and returns nil then. It returns ErrRefused when a person has
// to mend something. It leaves the target as it is in any case.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if !cfg.Relay && !cfg.shared {
		defer small()()
	}
	for {
		a, err := open(cfg)
		if err != nil {
			return err
		}
		if err = a.admit(); err == nil {
			err = a.run(ctx)
		}
		if err == nil || errors.Is(err, tunnel.ErrRemoved) {
			a.markCleanShutdown()
		}
		err = errors.Join(err, a.close())
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, bolt.ErrCorrupt):
			cfg.Log.Error("the store turned out to be corrupt; starting again to build it anew", "err", err)
		case errors.Is(err, errReplaced):
			cfg.Log.Warn(
				"the cluster is another one than before; starting again to make there what is placed here",
				"err",
				err,
			)
		default:
			return err
		}
	}
}

type agent struct {
	Config
	file      *bolt.File
	desired   *bolt.Sink
	guard     *deletionguard.Guard // what sessions fill the copy through
	clients   *target.Clients
	inventory *inventory.Inventory
	applier   *apply.Applier
	observer  *observe.Observer
	rules     *variants.Rules
	// conditions are what the site reports about itself. Each part sets its own.
	conditions tunnel.Conditions
	holds      bool // the site holds releases, see HoldFile
	identity   *siteIdentity
	known      clusterIdentity
	cache      cacheState
	clock      *enroll.Clock
	figures    *figures
	wish       *upgrade.Wish      // nil for a relay
	gateway    *gateway.Gateway   // nil for a relay
	services   *services.Services // nil for a relay
	pods       *streams.Site      // nil for a relay
	// gatewayMetrics and servicesMetrics are nil for a relay.
	gatewayMetrics  *gateway.Metrics
	servicesMetrics *services.Metrics
	permission      *permission // nil for a relay
	leased          *siteLease
	scrape          *metrics.Listener // nil without MetricsListen
	audit           *auditlog.Log     // nil with NoAuditLog
	trace           *tracing.Follower // nil without Tracer
	status          *statusFile
	self            selfName
}

func open(cfg Config) (*agent, error) {
	if err := datadir.Check(cfg.DataDir, datadir.Agent); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	if err := keyfile.Protect(cfg.Log, cfg.DataDir); err != nil {
		return nil, err
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New(metrics.Build{Version: cfg.Version, Revision: cfg.Revision})
	}
	known, err := openSiteIdentity(cfg.DataDir, cfg.Log)
	if err != nil {
		return nil, err
	}
	a := &agent{
		Config: cfg, identity: known, clients: target.NewClients(cfg.Target), trace: tracing.New(cfg.Tracer),
		status: newStatusFile(cfg.Version),
	}
	a.clients.SpacesNamespace = cfg.SpacesNamespace
	a.known.at = known.target()
	a.cache = newCacheState(&a.conditions)
	if sites := known.sites(); len(sites) > 0 {
		a.clients.SetSite(sites[0])
		a.cache.name()
	}
	if err := a.openCache(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err := a.wire(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *agent) close() (err error) {
	if a.figures != nil {
		a.figures.close()
	}
	if a.file != nil {
		err = a.file.Close()
	}
	if a.scrape != nil {
		err = errors.Join(err, a.scrape.Close())
	}
	return err
}

func (a *agent) wire() (err error) {
	if err := a.loadClock(); err != nil {
		return err
	}
	if !a.Config.Relay { // a relay's target is in this process, and has its clock
		a.clients.JudgeAt(a.clock.Time)
	}
	if a.AuditLog != NoAuditLog {
		a.audit = auditlog.New(cmp.Or(a.AuditLog, filepath.Join(a.DataDir, "audit.log")), auditlog.Options{Log: a.Log})
		a.clients.Written = a.audit.Note
	}
	a.guard, err = deletionguard.Open(deletionguard.Config{
		Copy: a.desired, Share: a.MaxDeleteShare, Values: a.file, Status: &a.conditions, Log: a.Log,
	})
	if err != nil {
		return err
	}
	if !a.Config.Relay {
		if a.permission, err = openPermission(a); err != nil {
			return err
		}
	}
	if a.leased, err = openLease(a); err != nil {
		return err
	}
	a.observer = observe.New(observe.Config{Inventory: a.inventory, Clients: a.clients, Log: a.Log, Desired: a.body,
		MayUpsync: a.mayUpsync})
	a.observer.SetForm(a.identity.reads())
	if err := a.loadUpsyncs(); err != nil {
		return err
	}
	a.rules = variants.New(variants.Config{
		Desired: a.desired, Keep: a.file, Report: a.observer.Ruled, Log: a.Log,
	})
	a.applier = apply.New(apply.Config{
		Desired: a.desired, Inventory: a.inventory, Clients: a.clients, Reports: a.observer, Relay: a.Config.Relay,
		Variants: a.rules, Self: a.names, Whole: func() bool { return a.desired.Position().Revision != store.Comparing },
		Guard: a.guard, Lease: a.leased, Listener: a, Trace: a.trace, Log: a.Log,
	})
	a.guard.Bind(a.applier)
	a.observer.Bind(rewinding{a.applier, &a.cache})
	if a.permission != nil {
		a.applier.Gate.Rules, a.applier.Gate.Impersonate = a.permission, a.Impersonate
		if a.permission.changed {
			a.applier.Recheck()
		}
	}
	if err := a.openGateway(); err != nil {
		return err
	}
	if !a.Config.Relay {
		a.wish = upgrade.Open(a.DataDir, a.Version, &a.conditions, a.Log)
	}
	a.figures = newFigures(a)
	if a.MetricsListen != "" {
		a.scrape, err = metrics.Listen(a.MetricsListen, a.Log)
	}
	return err
}

// run starts the parts, and ends all of them with the first that ends. The inventory ends last, so
// that it has what apply did.
func (a *agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts, books sync.WaitGroup
	bookCtx, closeBooks := context.WithCancel(context.WithoutCancel(ctx))
	defer closeBooks()
	books.Go(func() { cancel(a.inventory.Run(bookCtx)) })
	for _, part := range []func(context.Context) error{a.observer.Run, a.applier.Run, a.uplink,
		a.file.Maintain, a.recover, a.refill, a.watchCache, a.leased.run} {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	books.Go(func() { a.runClock(bookCtx) })
	books.Go(func() { a.runStatus(bookCtx) })
	a.lookForHold() // before the first session, so that its first words say it
	parts.Go(func() { a.runHold(ctx) })
	if !a.Config.Relay { // a center tells them itself
		books.Go(func() { a.tellGoroutines(bookCtx) })
	}
	if a.audit != nil {
		books.Go(func() { cancel(a.audit.Run(bookCtx)) })
	}
	parts.Go(func() { a.describe(ctx) })
	if !a.Config.Relay {
		parts.Go(func() { cancel(a.rules.Run(ctx)) })
		parts.Go(func() { cancel(a.followTarget(ctx)) })
		parts.Go(func() { a.tellOffer(ctx) })
		parts.Go(func() { a.leased.events.Run(ctx) })
		parts.Go(func() { a.runGateway(ctx, cancel) })
		parts.Go(func() { cancel(a.identify(ctx)) })
		parts.Go(func() { a.wish.Run(ctx) })
		parts.Go(func() { trim(ctx, a.file.ReleaseMemory) })
	}
	if a.Supervisor != nil {
		parts.Go(func() { a.Supervisor.Supervise(ctx, a.alive) })
	}
	if a.Subtree != nil {
		parts.Go(func() { a.reportSubtree(ctx) })
	}
	if a.scrape != nil {
		parts.Go(func() { cancel(a.scrape.Run(ctx, a.Metrics.Handler())) })
	}
	parts.Wait()
	closeBooks()
	books.Wait()
	a.clients.CloseIdle()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
