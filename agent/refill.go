package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/agent/apply"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// cacheState is how much the agent knows of what is on its target.
type cacheState struct {
	health   *cacheHealth
	lost     bool          // the file was corrupt or gone while the site had joined
	complete *atomic.Bool  // all of the target was seen, or need not be
	wanted   chan struct{} // one slot: the target has to be swept
	swept    chan struct{} // closed after the first look at the target
	named    chan struct{} // closed once it is known what this site is
	name     func()        // closes named
	reports  chan struct{} // closed when reports may go

	again *restart
}

// restart lets the present session be ended.
type restart struct {
	mu  sync.Mutex
	end func()
}

func newCacheState(conditions *tunnel.Conditions) cacheState {
	named := make(chan struct{})
	return cacheState{health: &cacheHealth{conditions: conditions}, complete: &atomic.Bool{},
		wanted: make(chan struct{}, 1), swept: make(chan struct{}), named: named,
		name: sync.OnceFunc(func() { close(named) }), reports: make(chan struct{}), again: &restart{}}
}

// sweepAgain makes the target be searched, because it may have what the file does not know.
func (c *cacheState) sweepAgain() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// rewinding is the applier as the observer knows it. On a target that was restored from a backup, an
// object that was deleted since then is there again, so that the target is searched, too.
type rewinding struct {
	*apply.Applier
	cache *cacheState
}

func (r rewinding) Rewound(keys []store.Key) {
	r.Applier.Rewound(keys)
	r.cache.sweepAgain()
}

// session records how to end the session that begins.
func (c *cacheState) session(end func()) {
	c.again.mu.Lock()
	defer c.again.mu.Unlock()
	c.again.end = end
}

// compare ends the session, if there is one. The next session compares the copy with the parent.
func (c *cacheState) compare() {
	c.again.mu.Lock()
	defer c.again.mu.Unlock()
	if c.again.end != nil {
		c.again.end()
	}
}

// refillTime bounds how long a site whose file was lost keeps its reports back once it has a
// session. The parent drops every report that they lack.
const (
	refillTime = time.Minute
	refillLook = 100 * time.Millisecond
)

// refill releases the reports when they are complete, and records when a lost file is complete
// again.
func (a *agent) refill(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.observer.Ready():
	}
	if !a.cache.lost {
		close(a.cache.reports)
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-a.cache.swept:
	}
	limit := time.NewTimer(refillTime)
	defer limit.Stop()
	held := a.cache.reports
	for !a.refilled() {
		select {
		case <-ctx.Done():
			return nil
		case <-limit.C:
			close(held)
			held = nil
		case <-time.After(refillLook):
		}
		if a.desired.Position().Revision == store.Comparing && held != nil {
			limit.Reset(refillTime) // there was no session yet that would take the reports
		}
	}
	if held != nil {
		close(held)
	}
	a.cache.health.refilled()
	a.Log.Info("the store is whole again", "objects", a.desired.Len())
	return nil
}

// refilled reports whether the parent has sent what was lost and the target has it, and what Upsyncs
// select of it is known.
func (a *agent) refilled() bool {
	return a.desired.Position().Revision != store.Comparing && a.applier.Pending() == 0 && a.observer.UpsyncsListed()
}
