package crd

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/lru"

	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// Servers keeps a Server for every space that has CustomResourceDefinitions and needs it, because a
// Server takes megabytes. It starts at a request for a custom resource or for the discovery of the
// space, or when a definition is written. It stops when the last definition is gone, or when nobody
// has used it for a while.
type Servers struct {
	config  *Config
	shared  *sharedDefinitions
	client  *clientv3.Client
	borrows *borrow.Table
	idle    time.Duration // how long an unused server is kept
	log     *slog.Logger

	// starting is held while a server starts. Meanwhile mu must not be held: the new server reads
	// its space through the front.
	starting sync.Mutex

	mu     sync.Mutex
	ctx    context.Context            // that of run
	known  map[string]map[string]bool // definitions of a space, by name: whether its server has still to bring one forward
	wrote  map[string]time.Time       // when a definition of a space was written last
	server map[string]*Server
	wake   sync.WaitGroup
}

// NewServers returns the servers of all spaces, none of which has started. The definitions are read
// from client; b knows who borrows them.
func NewServers(c Config, client *clientv3.Client, b *borrow.Table) *Servers {
	c.documents, c.common = lru.New(keptDocuments), memoized(apiextensionsopenapi.GetOpenAPIDefinitions)
	c.changes = newChanges()
	c.names = openapinamer.NewDefinitionNamer(apiextensionsapiserver.Scheme, scheme.Scheme)
	s := &Servers{
		config:  &c,
		client:  client,
		borrows: b,
		idle:    cmp.Or(c.Idle, idleTime),
		log:     c.Log,
		known:   map[string]map[string]bool{},
		wrote:   map[string]time.Time{},
		server:  map[string]*Server{},
	}
	s.shared = newSharedDefinitions(&c, http.HandlerFunc(s.unserved))
	return s
}

// ForSpace returns the server of a space, starting it if need be. It is nil for a space without
// definitions.
func (s *Servers) ForSpace(space string) *Server {
	if server, needed := s.lookup(space); server != nil || !needed {
		return server
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	server, needed := s.lookup(space)
	if server != nil || !needed {
		return server
	}
	server, err := s.config.start(s.context(), space, s.shared)
	if err != nil {
		s.log.Error("custom resources are not served", "space", space, "err", err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || len(s.known[space]) == 0 {
		s.wake.Go(server.stop)
		return nil
	}
	server.last = time.Now()
	s.server[space] = server
	return server
}

func (s *Servers) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

func (s *Servers) lookup(space string) (server *Server, needed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server = s.server[space]; server != nil {
		server.last = time.Now()
	}
	return server, len(s.known[space]) > 0 && s.ctx != nil && s.ctx.Err() == nil
}

// Run follows the definitions of all spaces until ctx ends, then stops all servers.
func (s *Servers) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.wake.Go(func() { s.stopUnused(ctx) })
	err := follow.Prefix(ctx, s.client, registrykey.CRDPrefix, s)
	s.mu.Lock()
	for space, server := range s.server {
		s.wake.Go(server.stop)
		delete(s.server, space)
	}
	s.mu.Unlock()
	s.wake.Wait()
	return err
}

// Reset implements follow.Handler.
func (s *Servers) Reset(_ int64, all []*mvccpb.KeyValue) error {
	s.mu.Lock()
	s.known = map[string]map[string]bool{}
	s.mu.Unlock()
	s.config.changes.announce()
	for _, kv := range all {
		s.put(kv)
	}
	return nil
}

// Change implements follow.Handler.
func (s *Servers) Change(e *clientv3.Event) error {
	if e.Type == mvccpb.Event_PUT {
		s.put(e.Kv)
		return nil
	}
	defer s.config.changes.announce()
	space, name := crdOf(e.Kv)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known[space], name)
	if len(s.known[space]) > 0 {
		return nil
	}
	delete(s.known, space)
	delete(s.wrote, space)
	if server := s.server[space]; server != nil {
		ctx := s.ctx
		s.wake.Go(func() { s.linger(ctx, space, server) })
	}
	return nil
}

// lingerTime is how long a Server outlives the last definition of its space. It must see its own
// last write, and often the next definition comes soon.
const lingerTime = 2 * time.Second

// linger stops a server after a while if its space still has no definition then.
func (s *Servers) linger(ctx context.Context, space string, server *Server) {
	timer := time.NewTimer(lingerTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // run stops all
		return
	}
	s.mu.Lock()
	unused := s.server[space] == server && len(s.known[space]) == 0
	if unused {
		delete(s.server, space)
	}
	s.mu.Unlock()
	if unused {
		server.stop()
	}
}

// Progress implements follow.Handler.
func (s *Servers) Progress(int64) {}

// put records a definition. It starts the Server of the space if the definition is not established
// yet, or is being deleted: only the Server can finish that.
func (s *Servers) put(kv *mvccpb.KeyValue) {
	defer s.config.changes.announce()
	space, name := crdOf(kv)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[space] == nil {
		s.known[space] = map[string]bool{}
	}
	s.known[space][name] = unfinished(kv.Value)
	s.wrote[space] = time.Now()
	if s.server[space] == nil && space != request.OwnSpace && s.known[space][name] {
		s.wake.Go(func() { s.ForSpace(space) })
	}
}

func crdOf(kv *mvccpb.KeyValue) (space, name string) {
	space, name, _ = strings.Cut(strings.TrimPrefix(string(kv.Key), registrykey.CRDPrefix), "/")
	return space, name
}

func unfinished(stored []byte) bool {
	crd, err := outline(stored)
	return err != nil || crd.DeletionTimestamp != nil || !IsEstablished(crd)
}

// IsEstablished reports whether a definition says that its objects can be written.
func IsEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
