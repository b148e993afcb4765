package target

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// View is one API endpoint of a target.
type View struct {
	// ID is equal for two spaces exactly when they are served by the same endpoint.
	ID string
	// Config says where the endpoint is and with which credentials it is reached.
	Config *rest.Config
}

// Access is what an agent is given to reach its target. Its methods may be called concurrently.
type Access interface {
	// View returns the endpoint that holds the objects of one space. It does no I/O.
	View(space string) (View, error)
	// EnsureSpace makes the space exist on the target, where that means anything, with the Mapping
	// that its own sites are to have. It is called before the first write to a space.
	EnsureSpace(ctx context.Context, space string, mapping Mapping) error
}

// Cluster is the Access of a workload cluster: every space has the same view of it.
func Cluster(config *rest.Config) Access { return cluster{View{ID: "cluster", Config: config}} }

type cluster struct{ view View }

func (c cluster) View(string) (View, error) { return c.view, nil }

func (c cluster) EnsureSpace(context.Context, string, Mapping) error { return nil }

// Clients keeps one Client for each View of an Access.
type Clients struct {
	// Reach follows whether the target answers.
	Reach *Reach
	// Written is called for every write to the target, concurrently; nil is not called. It must be
	// set before For.
	Written func(Written)
	// SpacesNamespace is the namespace of a cluster that holds the accounts of spaces; empty means
	// DefaultSpaces. It is set before For.
	SpacesNamespace string

	access Access

	mu      sync.Mutex
	clients map[string]*Client
	ensured map[string]bool
	site    atomic.Pointer[string]
	now     func() time.Time // nil: the machine's clock
}

// NewClients returns Clients of an Access.
func NewClients(access Access) *Clients {
	return &Clients{Reach: newReach(), access: access, clients: map[string]*Client{}, ensured: map[string]bool{}}
}

// JudgeAt makes now the clock that judges the target's certificate. The clock of a board without a
// battery is wrong until somebody has set it. JudgeAt must be called before For.
func (c *Clients) JudgeAt(now func() time.Time) { c.now = now }

// For returns the client of a space. Spaces with the same view share one.
func (c *Clients) For(space string) (*Client, error) {
	view, err := c.access.View(space)
	if err != nil {
		return nil, fmt.Errorf("find the target's view of space %q: %w", space, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[view.ID]; known != nil {
		return known, nil
	}
	made, err := newClient(view, c.now)
	if err != nil {
		return nil, fmt.Errorf("make a client of view %q: %w", view.ID, err)
	}
	made.reach, made.site, made.written = c.Reach, c.Site, c.Written
	made.spaces = cmp.Or(c.SpacesNamespace, DefaultSpaces)
	c.clients[view.ID] = made
	return made, nil
}

// SetSite sets the value of LabelSite in everything that is applied from now on.
func (c *Clients) SetSite(uid string) { c.site.Store(&uid) }

// Site returns what SetSite set, empty before.
func (c *Clients) Site() string {
	if uid := c.site.Load(); uid != nil {
		return *uid
	}
	return ""
}

// Spaces returns one space of each view that the target has now.
func (c *Clients) Spaces(ctx context.Context) ([]string, error) {
	if many, ok := c.access.(interface {
		spaces(ctx context.Context) ([]string, error)
	}); ok {
		return many.spaces(ctx)
	}
	return []string{""}, nil
}

// EnsureSpace calls the Access once for each space that it succeeds for.
func (c *Clients) EnsureSpace(ctx context.Context, space string, mapping Mapping) error {
	c.mu.Lock()
	done := c.ensured[space]
	c.mu.Unlock()
	if done {
		return nil
	}
	if err := c.access.EnsureSpace(ctx, space, mapping); err != nil {
		return fmt.Errorf("ensure space %q on the target: %w", space, err)
	}
	c.mu.Lock()
	c.ensured[space] = true
	c.mu.Unlock()
	return nil
}

// CloseIdle closes the connections that no request uses.
func (c *Clients) CloseIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range c.clients {
		utilnet.CloseIdleConnectionsFor(cl.http.Transport) // through the wrappers of client-go
		cl.talk.closeIdle()
	}
}
