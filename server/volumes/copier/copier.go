package copier

import (
	"context"
	"log/slog"
	"sync"
	"time"

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
	turns    map[turn]*queue // who has the token makes a round
	rounds   int64
	bytes    int64 // that crossed in them
}

// New returns a Copier that copies nothing yet.
func New(cfg Config) *Copier {
	return &Copier{cfg: cfg, moves: map[binding.UnitID]*moving{}, replicas: map[binding.UnitID]*replicating{},
		turns: map[turn]*queue{}}
}

// aloneTime is how long a round keeps others out of its targets. What a round runs in Pods is whatever their space and
// their sites make of it, and may never end: after this it goes on beside others.
const aloneTime = 10 * time.Minute

// alone waits until no other round is made at two targets, and keeps others out until free is called, or for aloneTime.
// A space waits for itself first: with many units it is one of those who wait for all.
func (c *Copier) alone(ctx context.Context, space, a, b string) (free func(), err error) {
	a, b = min(a, b), max(a, b) // all in one order
	own, err := c.take(ctx, turn{space, a}, turn{space, b})
	if err != nil {
		return nil, err
	}
	all, err := c.take(ctx, turn{"", a}, turn{"", b})
	if err != nil {
		own()
		return nil, err
	}
	late := time.AfterFunc(aloneTime, all)
	return func() {
		late.Stop()
		all()
		own()
	}, nil
}

// turn is what a round waits for at a target, by its UID: that of its space, and that of all, which has no space.
type turn struct{ space, target string }

// queue has the token of a turn. It is forgotten when nobody has or wants that.
type queue struct {
	token chan struct{}
	users int
}

// take takes turns, one after the other. What it returns gives them back, once.
func (c *Copier) take(ctx context.Context, turns ...turn) (free func(), err error) {
	var has []turn
	free = sync.OnceFunc(func() {
		for _, t := range has {
			<-c.wants(t, 0).token
			c.wants(t, -1)
		}
	})
	for _, t := range turns {
		select {
		case c.wants(t, 1).token <- struct{}{}:
			has = append(has, t)
		case <-ctx.Done():
			c.wants(t, -1)
			free()
			return nil, context.Cause(ctx)
		}
	}
	return free, nil
}

// wants is the queue of a turn, which so many more want, or have.
func (c *Copier) wants(t turn, more int) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.turns[t]
	if q == nil {
		q = &queue{token: make(chan struct{}, 1)}
		c.turns[t] = q
	}
	if q.users += more; q.users == 0 {
		delete(c.turns, t)
	}
	return q
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
