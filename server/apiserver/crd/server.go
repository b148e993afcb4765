package crd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/utils/lru"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/apiserver/webhook"
)

// Server serves the custom resources that the CustomResourceDefinitions of one space define. Its
// requests have passed the API server's chain: they are authenticated and authorized.
type Server struct {
	handler   http.Handler
	discovery *servedKinds
	known     listers.CustomResourceDefinitionLister // its definitions must not be changed
	documents *lru.Cache
	stop      func()

	// The requests that it is serving, and when it was used last. Servers.mu must be held.
	uses int
	last time.Time
}

// Config configures all Servers.
type Config struct {
	Base     *genericapiserver.Config // for effective version, authorizer, admission and limits
	Storages *storage.Storages
	Loopback func(space string) *rest.Config
	Webhooks *webhook.Callers
	Idle     time.Duration // how long an unused Server is kept; 0 for idleTime
	Log      *slog.Logger

	// common are the OpenAPI definitions that server-side apply begins with in every Server, built
	// once.
	common    common.GetOpenAPIDefinitions
	names     *openapinamer.DefinitionNamer
	documents *lru.Cache // see customDocuments
	changes   *changes   // announced when the definitions that a Server knows, or its discovery, change
}

// memoized returns a function that builds the OpenAPI definitions once. All callers must pass the
// same kind of reference.
func memoized(get common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	var once sync.Once
	var built map[string]common.OpenAPIDefinition
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		once.Do(func() { built = get(ref) })
		return built
	}
}

// start starts the Server of a space and returns when it has the space's definitions. The Server
// runs until stop is called; the end of ctx does not end it. It shares equal definitions with others.
func (c *Config) start(ctx context.Context, space string, shared *sharedDefinitions) (*Server, error) {
	g := genericapiserver.NewRecommendedConfig(apiextensionsapiserver.Codecs)
	g.EffectiveVersion, g.ExternalAddress = c.Base.EffectiveVersion, c.Base.ExternalAddress
	g.LoopbackClientConfig = c.Loopback(space)
	g.Authorization.Authorizer, g.AdmissionControl = c.Base.Authorization.Authorizer, c.Base.AdmissionControl
	g.EnableIndex, g.EnableProfiling, g.EnableMetrics, g.StorageObjectCountTracker = false, false, false, nil
	g.MergedResourceConfig = serverstorage.NewResourceConfig() // Group serves the definitions themselves
	g.RESTOptionsGetter = withCodec{
		c.Storages,
		apiextensionsapiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion),
		false,
		"",
	}
	g.OpenAPIConfig, g.SkipOpenAPIInstallation = nil, true // customDocuments does it
	g.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(c.common, c.names)
	resources := newServedKinds(c.changes.announce)
	g.AggregatedDiscoveryGroupManager = resources
	only := space
	if space == request.OwnSpace {
		only = "" // the definitions are here, the objects in every space
	}
	config := &apiextensionsapiserver.Config{GenericConfig: g, ExtraConfig: apiextensionsapiserver.ExtraConfig{
		CRDRESTOptionsGetter: withCodec{c.Storages, unstructured.UnstructuredJSONScheme, false, only},
		MasterCount:          1,
		ServiceResolver:      c.Webhooks.Resolver(),
		AuthResolverWrapper:  c.Webhooks.Converters(space),
	}}
	s, err := config.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(shared.unserved))
	if err != nil {
		return nil, fmt.Errorf("server for the custom resources of space %s: %w", space, err)
	}
	definitions := s.Informers.Apiextensions().V1().CustomResourceDefinitions()
	serves := &serving{shared: shared, space: only, byName: map[string]served{}}
	if err := definitions.Informer().SetTransform(serves.keep); err != nil {
		return nil, fmt.Errorf("server for the custom resources of space %s: %w", space, err)
	}
	if _, err := definitions.Informer().AddEventHandler(c.changes.handler()); err != nil {
		return nil, fmt.Errorf("server for the custom resources of space %s: %w", space, err)
	}
	s.GenericAPIServer.PrepareRun()
	// A hook whose context ends before it is done ends the process, so the context must outlive the
	// start.
	hooks, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.GenericAPIServer.RunPostStartHooks(hooks)
	for _, started := range s.GenericAPIServer.MuxAndDiscoveryCompleteSignals() {
		<-started
	}
	known := definitions.Lister()
	return &Server{
		handler:   refuseProtobuf(serves.wrap(known, s.GenericAPIServer.UnprotectedHandler())),
		discovery: resources,
		known:     known,
		documents: c.documents,
		stop:      func() { cancel(); s.GenericAPIServer.Destroy(); s.Informers.Shutdown() },
	}, nil
}

// definitions returns the definitions that the Server has. They must not be changed.
func (s *Server) definitions() []*apiextensionsv1.CustomResourceDefinition {
	all, _ := s.known.List(labels.Everything())
	return all
}

// definition returns the definition of a name, and the revision at which the Server has it. The
// revision is -1 if it has none.
func (s *Server) definition(name string) (*apiextensionsv1.CustomResourceDefinition, int64) {
	crd, err := s.known.Get(name)
	if err != nil {
		return nil, -1
	}
	revision, err := strconv.ParseInt(crd.ResourceVersion, 10, 64)
	if err != nil {
		return nil, -1
	}
	return crd, revision
}

// trimDefinition prepares a definition for the cache of a Server. It removes metadata that only
// writers need. That is safe: upstream writes only the status and finalizers of a definition, and a
// status write keeps the stored annotations.
//
// It also dates the condition Established back to the creation. Upstream delays the first objects of
// a definition for two seconds, because other replicas may not have it yet. Here those replicas wait
// themselves (hold.go).
func trimDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.ManagedFields = nil
	delete(crd.Annotations, corev1.LastAppliedConfigAnnotation)
	for i := range crd.Status.Conditions {
		if c := &crd.Status.Conditions[i]; c.Type == apiextensionsv1.Established {
			c.LastTransitionTime = metav1.NewTime(crd.CreationTimestamp.Add(-holdTime))
		}
	}
}
