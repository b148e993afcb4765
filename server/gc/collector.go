package gc

import (
	"context"
	"log/slog"
	"time"

	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// API is how the collector reads and changes objects.
type API interface {
	spaceapi.LiveGetter
	spaceapi.Resolver
	spaceapi.Patcher
	spaceapi.Remover
}

// Config is what a Collector needs.
type Config struct {
	API API
	// Keeps returns an error while an object that is deleted with orphan must not go yet: what it owns at
	// targets needs something first. Nil: nothing is owned there.
	Keeps func(store.Key) error
	Log   *slog.Logger
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
	c := &Collector{cfg: cfg}
	c.queue = queue.NewFair(10*time.Millisecond, 30*time.Second, func(of id) string { return of.space })
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
	queue.Serve(ctx, c.queue, workers, c.reconcile, func(i id, err error) {
		c.cfg.Log.Debug("garbage not collected yet", "space", i.space, "uid", i.uid, "err", err)
	})
	return nil
}
