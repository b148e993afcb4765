package apiserver

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authzunion "k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/node"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/capabilities"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	"skerry.dev/skerry/server/apiserver/admission"
	"skerry.dev/skerry/server/apiserver/amounts"
	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/apiserver/authz"
	"skerry.dev/skerry/server/apiserver/backends"
	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/controllers"
	"skerry.dev/skerry/server/apiserver/crd"
	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/events"
	"skerry.dev/skerry/server/apiserver/fair"
	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/kinds"
	"skerry.dev/skerry/server/apiserver/offers"
	"skerry.dev/skerry/server/apiserver/pods"
	"skerry.dev/skerry/server/apiserver/proxy"
	"skerry.dev/skerry/server/apiserver/quota"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/share"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/apiserver/top"
	"skerry.dev/skerry/server/apiserver/view"
	"skerry.dev/skerry/server/apiserver/wellknown"
	"skerry.dev/skerry/store"
)

// parts are those of the server that can only be filled in once the storages exist.
type parts struct {
	roles     *authz.Roles
	tokens    *authn.Tokens
	lifecycle *admission.Lifecycle
	defaults  *admission.ClusterDefaults
	ranges    *quota.LimitRanges
	security  *admission.PodSecurity
	eventTTL  time.Duration
	quotas    *quota.Plugin
	sites     pods.Sites
	departed  func(store.Key) string
	named     admission.NamedDeletions
	backends  *backends.Finder
}

// A cache compares itself with the store by listing all of it: with thousands of Pods that is tens
// of megabytes and most of what an idle center does. Upstream does so every five minutes, and has
// no other way to say how often than this variable.
func init() { consistency.CheckPeriod = time.Hour }

// allowPrivileged has upstream's validation take privileged containers, as kube-apiserver does:
// what a site runs is the site's to say. Upstream keeps this for the whole process.
func allowPrivileged() { capabilities.Setup(true, 0) }

// build wires the generic API server. Nothing runs yet but the caches.
func (s *Server) build() error {
	allowPrivileged()
	boot, err := authz.NewBootstrap()
	if err != nil {
		return err
	}
	tokens, err := authn.NewTokens(s.config.ExternalURL, s.config.ServiceAccountKey, s.config.targetUID)
	if err != nil {
		return err
	}
	s.tokens = tokens
	charged, err := quota.NewPlugin()
	if err != nil {
		return err
	}
	lifecycle := &admission.Lifecycle{}
	security, err := admission.NewPodSecurity(lifecycle)
	if err != nil {
		return err
	}
	security.Sites = s.config.SiteLevels
	p := parts{
		roles:     &authz.Roles{Bootstrap: boot},
		tokens:    tokens,
		lifecycle: lifecycle,
		defaults:  &admission.ClusterDefaults{},
		ranges:    &quota.LimitRanges{},
		security:  security,
		quotas:    charged,
		backends:  &backends.Finder{Unreachable: s.config.Unreachable},
		sites:     s.config.Sites,
		departed:  s.config.Departed,
		named:     admission.NamedDeletions{Store: s.config.Store.Client(), Log: s.config.Log},
		eventTTL:  cmp.Or(s.config.EventTTL, eventTTL),
	}
	s.offers, s.inventory = offers.NewTable(), inventory.NewTable()
	p.defaults.Offers = s.offers
	s.webhooks = s.newWebhooks(p.backends)
	s.counts = quota.NewCounter(charged, s.config.Store, s.config.Log)
	s.tokens = tokens
	s.usage, s.borrows = quota.NewUsage(), borrow.NewTable()
	g, factory, err := s.genericConfig(p)
	if err != nil {
		return err
	}
	crds := crd.Config{
		Base:     g,
		Storages: s.storages,
		Loopback: s.Loopback,
		Webhooks: s.webhooks,
		Idle:     s.config.CustomIdle,
		Log:      s.config.Log,
	}
	s.crds = crd.NewServers(crds, s.config.Store.Client().Client, s.borrows)
	s.sums = controllers.NewAggregatedRoles(s.config.Store.Client().Client, boot, s.Loopback, s.config.Log)
	s.checks = controllers.NewTypeChecks(s.config.Store.Client().Client, s.Loopback, s.config.Log)
	s.ttl = controllers.NewJobTTL(s.config.Store.Client().Client, s.Loopback, s.config.Log)
	seats := cmp.Or(s.config.Seats, share.DefaultSeats)
	sharing := share.New(s.usage, fair.New(seats, 2*seats), s.backlog)
	statuses, endStatuses, err := newTargetStatus(s.storages)
	if err != nil {
		return err
	}
	d := &dispatch{
		crds:     s.crds,
		borrows:  s.borrows,
		statuses: statuses,
		metrics:  s.config.Metrics,
		profiles: profiles(),
		renewal:  authn.Renewal{Renew: s.config.RenewCertificate},
		issuer:   tokens,
		view:     &view.Handler{Sites: s.config.Sites},
		reviews: &reviews{reviewer: s.config.Reviewer, services: s.config.Services,
			authz: g.Authorization.Authorizer},
		inventory: &inventory.Handler{Table: s.inventory,
			Center: inventory.Center{URL: s.config.ExternalURL, Bundle: s.config.Bundle}},
		used:    s.config.Used,
		stale:   s.config.Stale,
		aside:   s.config.Elsewhere,
		reaches: s.config.Sites != nil,
		log:     s.config.Log,
	}
	g.BuildHandlerChainFunc = func(h http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(sharing.Wrap(amounts.Wrap(offers.RefuseNodeWrites(d.wrap(h)))), c)
	}
	s.generic, err = g.Complete(nil).New("skerry", genericapiserver.NewEmptyDelegateWithCustomHandler(d.custom()))
	if err != nil {
		return err
	}
	s.generic.RegisterDestroyFunc(endStatuses)
	if err := s.install(g, factory, p); err != nil {
		return err
	}
	discovery.ServeDocuments(s.generic, g)
	s.generic.PrepareRun()
	s.front = &front{
		api:     s.generic.Handler,
		spaces:  s.config.Spaces,
		authn:   g.Authentication.Authenticator,
		routes:  s.config.Routes,
		hosts:   hosts{s.config.SpacesDomain},
		audited: g.AuditBackend != nil,
	}
	return nil
}

func (s *Server) genericConfig(p parts) (*genericapiserver.Config, serverstorage.StorageFactory, error) {
	version := compatibility.DefaultBuildEffectiveVersion()
	resources := resourceConfig()
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig(registrykey.Prefix, nil))
	etcd.DefaultStorageMediaType = "application/vnd.kubernetes.protobuf"
	fc := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(version)
	fc.APIResourceConfig = resources
	factory, err := fc.Complete(etcd).New()
	if err != nil {
		return nil, nil, fmt.Errorf("storage factory: %w", err)
	}
	s.check = borrow.NewCheck(s.borrows, s.config.Store.Client().Client)
	s.storages = storage.ForSpaces(
		storage.Config{
			Factory:    factory,
			Client:     s.config.Store.Client(),
			Encryption: s.config.Encryption,
			Exists:     s.config.Spaces.Has,
			Newest:     s.config.Store.Watermark,
			Quota:      s.usage,
			Lending:    s.check,
			Trace:      s.config.Trace,
			Unserved:   unserved,
		},
	)

	g := genericapiserver.NewConfig(legacyscheme.Codecs)
	g.EffectiveVersion = version
	g.ExternalAddress = hostPort(s.config.ExternalURL)
	g.MergedResourceConfig = resources
	g.LoopbackClientConfig = s.Loopback(request.RootSpace)
	g.RESTOptionsGetter = s.storages
	g.EnableProfiling, g.EnableMetrics = false, false // dispatch serves both, in root alone
	// Upstream's other check, of its log, keeps a goroutine for ever.
	ping := []healthz.HealthChecker{healthz.PingHealthz}
	g.HealthzChecks, g.LivezChecks, g.ReadyzChecks = ping, ping, ping
	if s.config.Tracer != nil {
		g.TracerProvider = kept{s.config.Tracer}
	}
	g.MaxRequestsInFlight, g.MaxMutatingRequestsInFlight = 4000, 2000
	g.LongRunningFunc = share.LongRunning()
	g.RequestInfoResolver = view.Resolver{Next: genericapiserver.NewRequestInfoResolver(g)}
	names := discovery.DefinitionNames()
	g.SkipOpenAPIInstallation = true // discovery.ServeDocuments does it
	g.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, names)
	g.OpenAPIConfig.Info.Title = "Skerry"
	g.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, names)
	g.OpenAPIV3Config.Info.Title = "Skerry"
	g.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	if g.Authentication.Authenticator, s.stopPeople, err = authn.New(s.config.AuthenticationConfig, s.config.ClientCAs,
		p.tokens, s.config.Log); err != nil {
		return nil, nil, err
	}
	if err := s.config.Audit.AddTo(g); err != nil {
		return nil, nil, err
	}
	rbac := p.roles.Authorizer()
	known := &authz.Members{Roles: p.roles, Next: rbac}
	if g.Authorization.Authorizer, err = authzunion.New(
		authority("masters", authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup).Authorize),
		authority("own masters", authz.OnlyOwnMasters),
		authority("own token", authz.OwnToken{Accounts: p.tokens}.Authorize),
		authority("users", authz.Users{Next: known}.Authorize),
		authority("rbac", known.Authorize)); err != nil {
		return nil, nil, err
	}
	g.RuleResolver = rbac
	s.rules = s.newRules(p.lifecycle, g.Authorization.Authorizer)
	// Annotations comes after the rules of users, which must not change what it sets.
	annotations := &admission.Annotations{Place: s.config.Place, PodAPI: s.config.PodAPI, PassesOn: s.config.Sites != nil}
	g.AdmissionControl = genericadmission.NewChainHandler(
		p.lifecycle,
		p.defaults,
		s.rules,
		admission.Creators{},
		admission.Imports{},
		annotations,
		p.ranges,
		p.security,
		crd.Guard{Outbound: s.config.Outbound},
		s.check.Guard,
		admission.Sizes{},
		admission.Placements{CheckURL: s.config.Outbound.CheckURL},
		admission.Upsyncs{},
		admission.Records{},
		admission.UserTokens{},
		admission.Customizers{Count: s.config.Customizers},
		admission.NoEffect{},
		admission.GoesAlong{Parts: s.config.Parts},
		admission.NoSuchTarget{Unknown: s.config.NoSuchTarget}, admission.Unserved{Words: s.config.Unserved},
		admission.ResourceNames{},
		admission.Constraints{},
		admission.Collectors{Check: s.config.Collectors},
		admission.Expressions{},
		admission.KeptDependents{},
		p.named,
		p.quotas,
	)
	return g, factory, nil
}

// authority is one of those who decide on requests. Its name stands before why it allows nothing.
func authority(name string, decide authorizer.AuthorizerFunc) authzunion.NamedAuthorizer {
	return authzunion.NamedAuthorizer{AuthorizerName: name, Authorizer: decide}
}

// install adds the API groups, and hands their storages to those parts that read through them.
func (s *Server) install(g *genericapiserver.Config, factory serverstorage.StorageFactory, p parts) error {
	var groups []*genericapiserver.APIGroupInfo
	var pods top.Pods
	happened := events.New(p.sites)
	for _, provider := range providers(g, factory, p, s.storages) {
		info, err := provider.NewRESTStorage(g.MergedResourceConfig, s.storages)
		if err != nil {
			return fmt.Errorf("storages of group %q: %w", provider.GroupName(), err)
		}
		v1 := info.VersionedResourcesStorageMap["v1"]
		s.counts.Use(provider.GroupName(), v1)
		kinds.AddPlaceColumns(v1, s.config.Unreachable)
		if p.sites != nil {
			for version, m := range info.VersionedResourcesStorageMap {
				happened.Use(provider.GroupName(), version, m)
			}
			if _, has := v1["events"]; has {
				happened.Wrap(v1)
			}
		}
		switch provider.GroupName() {
		case "":
			p.tokens.Use(v1)
			p.lifecycle.Namespaces = v1["namespaces"].(admission.NamespaceStore)
			p.ranges.Ranges = v1["limitranges"].(rest.Lister)
			pods = v1["pods"].(top.Pods)
			p.security.Pods = pods
			p.quotas.Use(v1)
			v1["nodes"] = offers.NewNodes(s.offers)
			p.backends.Services = v1["services"].(rest.Getter)
			p.backends.Pods = v1["pods"].(rest.Lister)
			if p.sites != nil {
				v1["services/proxy"] = &proxy.Services{Objects: p.backends.Services, Backends: p.backends, Sites: p.sites}
				v1["pods/proxy"] = &proxy.Pods{Objects: v1["pods"].(rest.Getter), Sites: p.sites}
			}
			if err := s.generic.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
				return fmt.Errorf("install the core group: %w", err)
			}
			info.StaticOpenAPISpec = nil
			continue
		case apps.GroupName:
			kinds.QuietMarks(v1)
		case scheduling.GroupName:
			p.defaults.Priorities = v1["priorityclasses"].(rest.Lister)
			s.showOffered(v1, "PriorityClass", scheduling.Resource("priorityclasses"))
		case storageapi.GroupName:
			p.defaults.StorageClasses = v1["storageclasses"].(rest.Lister)
			s.showOffered(v1, "StorageClass", storageapi.Resource("storageclasses"))
		case networking.GroupName:
			p.defaults.IngressClasses = v1["ingressclasses"].(rest.Lister)
			s.showOffered(v1, "IngressClass", networking.Resource("ingressclasses"))
		case node.GroupName:
			s.showOffered(v1, "RuntimeClass", node.Resource("runtimeclasses"))
		}
		groups = append(groups, &info)
	}
	if p.sites != nil {
		groups = append(groups, top.Group(pods, p.sites))
	}
	if err := s.generic.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("install groups: %w", err)
	}
	for _, info := range groups { // which the server keeps, to destroy their storages
		info.StaticOpenAPISpec = nil
	}
	checks := []healthz.HealthChecker{healthz.NamedCheck("spaces", func(*http.Request) error {
		if !s.config.Spaces.Loaded() {
			return fmt.Errorf("the spaces are not known yet")
		}
		return nil
	}), healthz.NamedCheck("store", func(r *http.Request) error {
		if err := s.config.Store.Health(); err != nil {
			return err
		}
		_, err := s.config.Store.Revision(r.Context())
		return err
	})}
	for name, check := range s.config.ReadyChecks {
		checks = append(checks, healthz.NamedCheck(name, func(*http.Request) error { return check() }))
	}
	return s.generic.AddReadyzChecks(checks...)
}

// showOffered has a storage of classes show what targets offer, beside what a space stores. What was
// handed to admission and quotas before sees what is stored.
func (s *Server) showOffered(m map[string]rest.Storage, kind string, r schema.GroupResource) {
	m[r.Resource] = offers.NewClasses(s.offers, kind, r, m[r.Resource].(wellknown.Stored))
}

// hostPort returns the host and port of a URL, with the port of https where none is given.
func hostPort(external string) string {
	u, err := url.Parse(external)
	if err != nil || u.Host == "" {
		return "localhost:443"
	}
	if u.Port() == "" {
		return u.Host + ":443"
	}
	return u.Host
}
