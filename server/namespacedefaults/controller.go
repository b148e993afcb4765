package namespacedefaults

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

const (
	// Account is the ServiceAccount of every namespace.
	Account = "default"
	// RootCA is the ConfigMap of every namespace.
	RootCA = "kube-root-ca.crt"

	caKey   = "ca.crt"
	workers = 2
)

// API is how a Controller changes objects.
type API interface {
	spaceapi.Creator
	spaceapi.Patcher
}

// Config is what a Controller needs.
type Config struct {
	API API
	// Namespaces lists the namespaces of a space as they are stored now.
	Namespaces func(ctx context.Context, space string) ([]string, error)
	// Has reports whether a space exists and is not being deleted.
	Has func(space string) bool
	// Bundle is what kube-root-ca.crt says, as PEM.
	Bundle func() []byte
	Log    *slog.Logger
}

// Controller follows the writes of all spaces. It is a change handler of the kube API.
type Controller struct {
	cfg   Config
	queue queue.Queue[namespace]

	mu     sync.Mutex
	spaces map[string]chan struct{} // the spaces in use; closed once all their namespaces have their defaults
}

// namespace is one namespace of one space.
type namespace struct{ space, name string }

// New returns a Controller. Use works at once, Run does the rest.
func New(c Config) *Controller {
	return &Controller{
		cfg:    c,
		queue:  queue.NewFair(20*time.Millisecond, 30*time.Second, func(of namespace) string { return of.space }),
		spaces: map[string]chan struct{}{},
	}
}

// Use says that somebody asks a space for such kinds, and returns when all of its namespaces have
// them.
func (c *Controller) Use(ctx context.Context, space string) error {
	c.mu.Lock()
	done, known := c.spaces[space]
	if !known {
		// From here on new namespaces are noticed by Apply, so that none is missed between the list
		// and the end.
		done = make(chan struct{})
		c.spaces[space] = done
	}
	c.mu.Unlock()
	if known {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer close(done)
	err := c.all(ctx, space)
	if err != nil {
		c.forget(space)
	}
	return err
}

func (c *Controller) all(ctx context.Context, space string) error {
	names, err := c.cfg.Namespaces(ctx, space)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.reconcile(ctx, namespace{space, name}); err != nil {
			return err
		}
	}
	return nil
}

// Renew writes the ConfigMap of all namespaces anew: other authorities are trusted.
func (c *Controller) Renew(ctx context.Context) {
	c.mu.Lock()
	all := make([]string, 0, len(c.spaces))
	for space := range c.spaces {
		all = append(all, space)
	}
	c.mu.Unlock()
	for _, space := range all {
		names, err := c.cfg.Namespaces(ctx, space)
		if err != nil {
			c.cfg.Log.Warn("namespaces keep the authorities of before", "space", space, "err", err)
			continue
		}
		for _, name := range names {
			c.queue.Add(namespace{space, name})
		}
	}
}

// Reset takes everything that exists. A space is in use when one of its namespaces has the
// ServiceAccount.
func (c *Controller) Reset(_ int64, all store.Listing) {
	used, have := map[string]bool{}, map[namespace]int{}
	for w := range all.Objects(func(k store.Key) bool {
		return isAccount(k) || isRootCA(k) || isAuthentication(k)
	}) {
		n := namespace{w.Key.Space, w.Key.Namespace}
		switch {
		case isAccount(w.Key):
			used[w.Key.Space] = true
			have[n]++
		case isRootCA(w.Key) && c.current(w.Object), isAuthentication(w.Key):
			have[n]++
		}
	}
	c.mu.Lock()
	for space := range used {
		if c.spaces[space] == nil {
			done := make(chan struct{})
			close(done)
			c.spaces[space] = done
		}
	}
	c.mu.Unlock()
	for w := range all.Objects(isNamespace) {
		lacks := 2
		if w.Key.Name == metav1.NamespaceSystem {
			lacks = 4
		}
		if n := (namespace{w.Key.Space, w.Key.Name}); have[n] < lacks {
			c.enqueue(n)
		}
	}
}

// Apply takes one write.
func (c *Controller) Apply(w store.Write) {
	switch {
	case isNamespace(w.Key) && w.Object == nil:
		if w.Key.Name == "default" { // it goes with its space alone
			c.forget(w.Key.Space)
		}
	case isNamespace(w.Key):
		c.enqueue(namespace{w.Key.Space, w.Key.Name})
	case isAccount(w.Key) && w.Object == nil, isRootCA(w.Key) && !c.current(w.Object),
		isAuthentication(w.Key) && w.Object == nil:
		c.enqueue(namespace{w.Key.Space, w.Key.Namespace})
	}
}

// Progress means nothing to it.
func (c *Controller) Progress(int64) {}

func (c *Controller) enqueue(n namespace) {
	c.mu.Lock()
	_, used := c.spaces[n.space]
	c.mu.Unlock()
	if used {
		c.queue.Add(n)
	}
}

func (c *Controller) forget(space string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.spaces, space)
}

// Run makes what is new or was deleted until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	queue.Serve(ctx, c.queue, workers, c.reconcile, func(n namespace, err error) {
		c.cfg.Log.Debug("namespace lacks its defaults yet", "space", n.space, "namespace", n.name, "err", err)
	})
	return nil
}
