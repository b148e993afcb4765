package apiserver

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/admission"
	"skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/apiserver/backlog"
	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/controllers"
	"skerry.dev/skerry/server/apiserver/crd"
	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/offers"
	"skerry.dev/skerry/server/apiserver/outbound"
	"skerry.dev/skerry/server/apiserver/pods"
	"skerry.dev/skerry/server/apiserver/policy"
	"skerry.dev/skerry/server/apiserver/quota"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/share"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/apiserver/webhook"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/tracing"
)

// Config of a Server.
type Config struct {
	// Store is the center's database. It must outlive Run.
	Store *kine.Store
	// Encryption encrypts what is stored; nil stores everything as it is.
	Encryption storage.Encryption
	// Listener hands in connections whose TLS handshake is done, with what TLSConfig says. Nil
	// means that only the loopback is served. TLS has the certificates.
	Listener net.Listener
	TLS      *tls.Config
	// ClientCAs signs the certificates of people: the common name is the user, the organizations
	// are the groups. It is asked for each connection: authorities are rotated while the server
	// runs.
	ClientCAs func() *x509.CertPool
	// RenewCertificate issues another client certificate with the subject of peer, which the server
	// has verified, for the key of a PEM certificate request. Nil renews none.
	RenewCertificate func(peer *x509.Certificate, request []byte) (authn.Renewed, error)
	// ServiceAccountKey signs the tokens of ServiceAccounts.
	ServiceAccountKey crypto.Signer
	// ExternalURL is how users reach the center: https://HOST:PORT, without a slash at the end.
	ExternalURL string
	// SpacesDomain is the domain below which each space has a host of its own, NAME.DOMAIN, in
	// lower case; empty means that they have none.
	SpacesDomain string
	// Bundle returns the authorities of the center's certificate as PEM, for those who are told
	// ExternalURL; nil means those that every machine trusts.
	Bundle func() []byte
	// Spaces says which spaces there are.
	Spaces Spaces
	// Outbound says which addresses the center connects to because a space asks for it; nil means
	// public ones.
	Outbound *outbound.Rules
	// Place decides where new objects go; nil decides nothing.
	Place admission.PlaceFunc
	// Reviewer answers PlacementReviews; nil answers none.
	Reviewer Reviewer
	// Services answers ServiceReviews, where Reviewer is there.
	Services ServiceReviewer
	// Customizers is how many of them a space has; nil when that is not bounded.
	Customizers func(space string) int
	// Collectors says what is wrong with a StatusCollector; nil accepts all.
	Collectors func(v1alpha1.StatusCollectorSpec) *field.Error
	// Parts says what a label parts an object from, see admission.GoesAlong.
	Parts func(k store.Key, label string, content map[string]any) string
	// NoSuchTarget says which names a space has no target by, see admission.NoSuchTarget.
	NoSuchTarget func(space string, names []string, selectors []labels.Selector) string
	// Unserved says what of an Ingress the center itself does not serve, see admission.Unserved.
	Unserved func(k store.Key, obj map[string]any) string
	// PodAPI says which API the pods of an account are given; nil leaves them as they are.
	PodAPI func(space, namespace string, a placement.PodAccount) placement.PodAPI
	// SiteLevels says to which Pod Security level sites keep; nil warns of none.
	SiteLevels admission.SiteLevels
	// Used is told, before the answer, that somebody asks a space for its ConfigMaps or
	// ServiceAccounts, so that those of every cluster can be made (package namespacedefaults); nil
	// makes none.
	Used func(ctx context.Context, space string) error
	// Stale says why what is shown of an object is old, from memory; it is empty where it is not.
	// Who reads such an object by its name is warned. Nil warns nobody.
	Stale func(key store.Key) string
	// Elsewhere says which Pods a list of a namespace, or of a whole space where that is empty, does not
	// show, and where they are; it is empty where it shows all. Who lists Pods is warned. Nil warns nobody.
	Elsewhere func(space, namespace string) string
	// Departed says of a Pod that is not in its space where it has gone, from memory; it is empty where
	// nobody knows. Who asks for it is told. Nil knows nothing.
	Departed func(pod store.Key) string
	// Unreachable returns since when the first of some targets has not been heard of, the zero time
	// when all are. Nil knows of none.
	Unreachable func(targets []string) time.Time
	// Target returns the UID of a target of the center, "" where there is none; nil knows of none.
	Target func(name string) string
	// Sites reaches Pods where they run; nil reaches none, and what would is not served.
	Sites pods.Sites
	// RTT returns the round trip to a target; it is false where the target is not connected here. Of
	// several sites that serve a webhook the nearest is called. Nil knows of none.
	RTT func(target string) (time.Duration, bool)
	// WebhookMetrics counts calls of webhooks by Service; nil counts nothing.
	WebhookMetrics *webhook.Metrics
	// Seats is how many requests from outside are answered side by side, watches left out; 0 means
	// 200.
	Seats int
	// CustomIdle is how long what serves a space's custom resources is kept although nobody uses
	// it; 0 means 10 minutes.
	CustomIdle time.Duration
	// EventTTL is how long Events are kept; 0 means an hour, as in Kubernetes.
	EventTTL time.Duration
	// AuthenticationConfig is the path of Kubernetes' AuthenticationConfiguration: OIDC providers,
	// and where one may be anonymous. It is read again when it changes. Empty means no providers.
	AuthenticationConfig string
	// Audit says which audit log is written; its zero value means none.
	Audit audit.Config
	// Tracer gets spans of requests; nil means that nothing is traced. Trace follows what sampled
	// requests write; it may be nil.
	Tracer trace.TracerProvider
	Trace  *tracing.Follower
	// Routes are served before authentication, by exact path.
	Routes map[string]http.Handler
	// Metrics answers /metrics of root, for those who may get that path there; nil is 404.
	Metrics http.Handler
	// ReadyChecks are further lines of /readyz, by name.
	ReadyChecks map[string]func() error
	// Log gets changes of state; nil discards.
	Log *slog.Logger
}

// Server is the kube API of a center.
type Server struct {
	config    Config
	storages  *storage.Storages
	loopback  *loopback
	front     *front
	crds      *crd.Servers
	tokens    *authn.Tokens
	sums      *controllers.AggregatedRoles
	checks    *controllers.TypeChecks
	ttl       *controllers.JobTTL
	rules     *policy.Plugin
	webhooks  *webhook.Callers
	counts    *quota.Counter
	usage     *quota.Usage
	offers    *offers.Table
	inventory *inventory.Table
	backlog   *backlog.Ledger
	borrows   *borrow.Table
	check     borrow.Check
	generic   *genericapiserver.GenericAPIServer
	ready     chan struct{}
	// stopPeople ends what asks OIDC providers for their keys.
	stopPeople func()
}

// New builds the server. It reads nothing yet; goroutines that it starts (the caches) end with Run,
// or with Run's context if that ended before.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Outbound == nil {
		c.Outbound = outbound.New(nil, nil)
	}
	if c.Store == nil || c.Spaces == nil || c.ServiceAccountKey == nil {
		return nil, errors.New("apiserver: Store, Spaces and ServiceAccountKey are needed")
	}
	if c.Encryption == nil {
		c.Encryption = storage.Unencrypted{}
	}
	s := &Server{config: c, loopback: newLoopback(), backlog: backlog.New(share.WatchBytes), ready: make(chan struct{})}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("build API server: %w", err)
	}
	return s, nil
}

// Counters are those parts of the server that count what spaces hold, or show what targets offer:
// they have to be given the writes of all spaces.
func (s *Server) Counters() []storage.ChangeHandler {
	return []storage.ChangeHandler{s.usage, s.counts, s.offers, s.inventory}
}

// Watches returns how many watches clients have open in all spaces, and how many the server has
// ended because of what they kept in memory.
func (s *Server) Watches() (open int, ended map[backlog.Reason]uint64) {
	return s.backlog.Len(), s.backlog.Ended()
}

// Ready is closed when the loopback works and the kinds of skerry.dev are served.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// SecretToken returns a token of a ServiceAccount of a space that ends with the account and with a
// Secret of the same namespace. Both are given by name and UID.
func (s *Server) SecretToken(ctx context.Context, space string, account, secret metav1.ObjectMeta) (string, error) {
	return s.tokens.SecretToken(request.WithSpace(ctx, space), account, secret)
}

// Loopback returns a client configuration for one space, or for all spaces when space is "*": in
// memory, as the center itself. Objects of all spaces carry their storage key, which begins with
// the space, in metadata.selfLink; they can be listed and watched only.
func (s *Server) Loopback(space string) *rest.Config { return s.loopback.config(space) }

// Run serves until ctx ends, and returns when everything has stopped. Requests in flight get a few
// seconds.
func (s *Server) Run(ctx context.Context) error {
	// The inside (loopback, hooks, caches) must outlive the parts that use it.
	inside, stopInside := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInside()
	inner := s.loopback.server(s.front.inner(), inside)
	var innerDone sync.WaitGroup
	innerDone.Go(func() { inner.Serve(s.loopback.listener) })
	s.generic.RunPostStartHooks(inside)
	if audit := s.generic.AuditBackend; audit != nil {
		if err := audit.Run(inside.Done()); err != nil {
			return fmt.Errorf("begin the audit log: %w", err)
		}
		defer audit.Shutdown()
	}
	defer s.stopPeople()
	defer func() {
		stopInside()
		s.loopback.transport.CloseIdleConnections()
		inner.Close()
		innerDone.Wait()
		s.webhooks.Close()
		s.generic.Destroy()
	}()
	return s.serve(ctx)
}

// serve runs what uses the inside: custom resources, the start-up, the listener. The first failure
// ends all.
func (s *Server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	run := func(what string, f func(context.Context) error) {
		all.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	run("custom resources", s.crds.Run)
	run("shared APIs", func(ctx context.Context) error { return s.borrows.Run(ctx, s.config.Store.Client().Client) })
	run("aggregated roles", s.sums.Run)
	run("types of admission policies", s.checks.Run)
	run("finished Jobs", s.ttl.Run)
	run("admission policies", s.followRules)
	run("quotas", s.counts.Run)
	run("history", func(ctx context.Context) error { return s.storages.Run(ctx, s.config.Store.Revision) })
	run(
		"usage of spaces",
		func(ctx context.Context) error { return s.usage.Run(ctx, s.Loopback(request.RootSpace), s.config.Log) },
	)
	run("start", s.becomeReady)
	if s.config.Listener != nil {
		run("serve", s.serveListener)
	}
	<-ctx.Done()
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// becomeReady fills the caches, installs the own kinds, and closes ready.
func (s *Server) becomeReady(ctx context.Context) error {
	if err := s.storages.Wait(ctx); err != nil {
		return err
	}
	if err := installOwnKinds(ctx, s.Loopback(request.OwnSpace)); err != nil {
		return err
	}
	if err := waitServed(ctx, s.Loopback(request.OwnSpace),
		func() bool { return s.crds.ForSpace(request.OwnSpace) != nil }); err != nil {
		return err
	}
	select {
	case <-s.borrows.Known:
	case <-ctx.Done():
		return ctx.Err()
	}
	// A start leaves more garbage than all that stays; without this it would count as resident
	// until the next collection.
	debug.FreeOSMemory()
	close(s.ready)
	s.config.Log.Info("API is ready", "url", s.config.ExternalURL)
	return nil
}
