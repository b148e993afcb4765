package gc

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
)

// API is how the collector reads and changes objects. Errors are those of Kubernetes' API.
type API interface {
	// Live reads an object from the store, never from a cache.
	Live(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error)
	// Resolve tells how objects of a kind are reached in a space, an error when the space does not
	// serve it.
	Resolve(ctx context.Context, space string, gv schema.GroupVersion, kind string) (resource string, namespaced bool, err error)
	// Patch sends a JSON merge patch.
	Patch(ctx context.Context, key store.Key, apiVersion, subresource string, patch []byte) (map[string]any, error)
	// Remove deletes the object of this UID and version with a propagation policy: Orphan,
	// Foreground or Background.
	Remove(ctx context.Context, key store.Key, apiVersion, uid, version, policy string) error
}

// Config is what a Collector needs.
type Config struct {
	API API
	Log *slog.Logger
}

// Collector follows the writes of all spaces and collects what nothing owns any more. It is a
// change handler of the kube API.
type Collector struct {
	cfg   Config
	graph *graph
	queue queue.Queue[id]
}

// workers is how many objects are looked at side by side.
const workers = 4

// New returns a collector that collects nothing before Run.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg, queue: queue.New[id](10*time.Millisecond, 30*time.Second)}
	c.graph = newGraph(func(i id) { c.queue.Add(i) })
	return c
}

// Reset takes everything that exists.
func (c *Collector) Reset(_ int64, all store.Listing) { c.graph.reset(all) }

// Apply takes one write.
func (c *Collector) Apply(w store.Write) { c.graph.apply(w) }

// Progress means nothing to it.
func (c *Collector) Progress(int64) {}

// Run collects until ctx ends.
func (c *Collector) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer c.queue.ShutDown()
	for range workers {
		all.Go(func() {
			queue.Drain(ctx, c.queue, c.reconcile, func(i id, err error) {
				c.cfg.Log.Debug("garbage not collected yet", "space", i.space, "uid", i.uid, "err", err)
			})
		})
	}
	<-ctx.Done()
	return nil
}
