package copier

import (
	"context"
	"log/slog"
	"sync"

	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/server/volumes"
)

// Config is what a Copier works with. All fields are required.
type Config struct {
	API interface {
		spaceapi.Getter
		spaceapi.Creator
		spaceapi.Patcher
	}
	// Client reaches the API of a space, and Exec Pods in it.
	Client func(space string) (kubernetes.Interface, error)
	Exec   func(space string) podexec.Executor
	// Image is that of the movers: it has the program at /skerry.
	Image string
	Log   *slog.Logger
}

// Copier makes the copies that are wanted. Its methods may be called concurrently.
type Copier struct {
	cfg     Config
	running sync.WaitGroup

	mu       sync.Mutex
	moves    map[binding.UnitID]*moving
	replicas map[binding.UnitID]*replicating
	sites    map[string]chan struct{} // by the UID of a target; who has its token makes a round
	rounds   int64
	bytes    int64 // that crossed in them
}

// New returns a Copier that copies nothing yet.
func New(cfg Config) *Copier {
	return &Copier{cfg: cfg, moves: map[binding.UnitID]*moving{}, replicas: map[binding.UnitID]*replicating{},
		sites: map[string]chan struct{}{}}
}

// alone waits until no other round is made at two targets, and keeps others out until free is called.
func (c *Copier) alone(ctx context.Context, a, b string) (free func(), err error) {
	var has []chan struct{}
	free = func() {
		for _, s := range has {
			<-s
		}
	}
	for _, uid := range []string{min(a, b), max(a, b)} { // all in one order
		c.mu.Lock()
		s := c.sites[uid]
		if s == nil {
			s = make(chan struct{}, 1)
			c.sites[uid] = s
		}
		c.mu.Unlock()
		select {
		case s <- struct{}{}:
			has = append(has, s)
		case <-ctx.Done():
			free()
			return nil, context.Cause(ctx)
		}
	}
	return free, nil
}

func (c *Copier) sent(r *volumes.Round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds++
	c.bytes += r.Sent
}

// Sent is how many rounds of standbys were made, and how many bytes of them crossed.
func (c *Copier) Sent() (rounds, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rounds, c.bytes
}

// Keep has what a unit needs be copied until ctx ends, and nothing else for it; nil ends it. It calls wake when the
// state is another one.
func (c *Copier) Keep(ctx context.Context, unit binding.UnitID, m *volumes.Move, wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.moves[unit]
	if now != nil && (m == nil || now.pair != m.Pair()) {
		now.stop()
		delete(c.moves, unit)
		now = nil
	}
	switch {
	case m == nil:
	case now == nil:
		ctx, stop := context.WithCancel(ctx)
		now = &moving{c: c, move: *m, pair: m.Pair(), wake: wake, stop: stop, changed: make(chan struct{}, 1)}
		c.moves[unit] = now
		c.running.Go(func() { now.run(ctx) })
	default:
		now.become(*m)
	}
}

// State is how far the copy of a move is. What was whole before the unit ran again is not.
func (c *Copier) State(m *volumes.Move) volumes.State {
	c.mu.Lock()
	now := c.moves[m.Unit]
	c.mu.Unlock()
	if now == nil || now.pair != m.Pair() {
		return volumes.State{}
	}
	return now.state(m.Left)
}

// Wait waits for all copies; their contexts are done.
func (c *Copier) Wait() { c.running.Wait() }
