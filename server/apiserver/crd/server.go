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

// Server serves the custom resources that the CustomResourceDefinitions of one space define.
// Requests reach it behind the chain of the API server, so they are authenticated and authorized.
type Server struct {
	handler   http.Handler
	discovery *servedKinds
	known     listers.CustomResourceDefinitionLister // its definitions are shared: nobody changes them
	documents *lru.Cache
	stop      func()

	// Of Servers, guarded by its mu: how many requests are in it, and when it was used last.
	uses int
	last time.Time
}

// Config is what all Servers have in common.
type Config struct {
	Base     *genericapiserver.Config // effective version, authorizer and admission are taken from it
	Storages *storage.Storages
	Loopback func(space string) *rest.Config
	Webhooks *webhook.Callers
	Idle     time.Duration // how long an unused server is kept, 0 for idleTime
	Log      *slog.Logger

	// common are the OpenAPI definitions that server-side apply begins with in every Server, built
	// once.
	common    common.GetOpenAPIDefinitions
	names     *openapinamer.DefinitionNamer
	documents *lru.Cache // see customDocuments
	changes   *changes   // announced when the definitions that a Server knows, or its discovery, change
}

// memoized makes a set of OpenAPI definitions be built once. All callers refer to definitions in
// the same way.
func memoized(get common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	var once sync.Once
	var built map[string]common.OpenAPIDefinition
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		once.Do(func() { built = get(ref) })
		return built
	}
}

// start starts the server for the definitions in a space and returns once it knows them. It lives
// until stop, not until ctx ends. Equal definitions of others share what they can.
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
	// A hook that sees its context end before it is done kills the process, so the context must
	// outlive the start.
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

// definitions returns the definitions that the server knows.
func (s *Server) definitions() []*apiextensionsv1.CustomResourceDefinition {
	all, _ := s.known.List(labels.Everything())
	return all
}

// definition returns a definition that the server knows, and the revision of the write that it
// knows. The revision is -1 if it knows none of the name.
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

// trimDefinition makes a definition fit to be kept by a server. It loses what only its writers
// need, which is stored: upstream writes none but the status and finalizers of one, and status
// keeps the stored annotations then. And it has been established for as long as it exists: upstream
// lets the first objects of a definition wait for two seconds, because other replicas may not know
// it yet, which here wait until they do (hold.go).
func trimDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.ManagedFields = nil
	delete(crd.Annotations, corev1.LastAppliedConfigAnnotation)
	for i := range crd.Status.Conditions {
		if c := &crd.Status.Conditions[i]; c.Type == apiextensionsv1.Established {
			c.LastTransitionTime = metav1.NewTime(crd.CreationTimestamp.Add(-holdTime))
		}
	}
}
