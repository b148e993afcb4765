package space

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
)

const (
	root = v1alpha1.RootSpace
	// workers is how many spaces are worked on at once.
	workers = 4
)

var spaces = schema.GroupVersionResource{
	Group:    v1alpha1.GroupVersion.Group,
	Version:  v1alpha1.GroupVersion.Version,
	Resource: "spaces",
}

// Content is what is stored in a space.
type Content interface {
	// Borrowers lists the spaces that are served with definitions of a space.
	Borrowers(ctx context.Context, space string) ([]string, error)
	// Keys lists it all.
	Keys(ctx context.Context, space string) ([]store.Key, error)
	// Purge deletes it all, finalizers or not, and tells how much is left.
	Purge(ctx context.Context, space string, progress func(left int)) error
}

// Config of a Controller.
type Config struct {
	// Set is kept equal to the Space objects.
	Set *Set
	// Loopback returns the center's own access to a space, "*" for all of them.
	Loopback func(space string) *rest.Config
	// URL is where a space is served, and HostURL the same at a host of its own, "" where spaces
	// have none; nil is none.
	URL, HostURL func(space string) string
	// Open is the access that root is set up with, also by a replica that does not lead; nil is
	// Loopback.
	Open func(space string) *rest.Config
	// Lead is closed when this replica may change what spaces are; nil is always. The Set is kept
	// without.
	Lead <-chan struct{}
	// Content gives and deletes what is stored in a space.
	Content Content
	// Log gets changes of state; nil discards.
	Log *slog.Logger
}

// Controller is the life of all spaces.
type Controller struct {
	config Config
	client dynamic.Interface
	queue  queue.Queue[string]
	ready  chan struct{}
}

// New returns a Controller. Run starts it.
func New(c Config) *Controller {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Controller{
		config: c,
		queue:  queue.New[string](20*time.Millisecond, 10*time.Second),
		ready:  make(chan struct{}),
	}
}

// Ready is closed when all spaces are known and root has its namespaces.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// Run works until ctx ends. The API must serve the loopback.
func (c *Controller) Run(ctx context.Context) error {
	defer c.queue.ShutDown()
	client, err := dynamic.NewForConfig(c.config.Loopback(root))
	if err != nil {
		return fmt.Errorf("client for spaces: %w", err)
	}
	c.client = client
	open := c.config.Open
	if open == nil {
		open = c.config.Loopback
	}
	if err := ensureNamespaces(ctx, open, root); err != nil {
		return fmt.Errorf("set up root: %w", err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer c.queue.ShutDown()
	all.Go(func() { c.watch(ctx) })
	if c.config.Lead != nil {
		select {
		case <-c.config.Lead:
		case <-ctx.Done():
			return nil
		}
	}
	for range workers {
		all.Go(func() { c.work(ctx) })
	}
	all.Go(func() { emptyNamespaces(ctx, c.config.Loopback, c.config.Log) })
	<-ctx.Done()
	return nil
}

func (c *Controller) work(ctx context.Context) {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		again, err := c.reconcile(ctx, name)
		switch {
		case err != nil && ctx.Err() == nil:
			c.config.Log.Warn("space not settled", "space", name, "err", err)
			c.queue.AddRateLimited(name)
		case again > 0:
			c.queue.Forget(name)
			c.queue.AddAfter(name, again)
		default:
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}
