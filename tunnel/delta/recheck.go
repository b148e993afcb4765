package delta

import (
	"sync"

	"skerry.dev/skerry/tunnel/wire"
)

// Recheck lets the owner of a copy have it compared with its sender while a Receive keeps it. It
// belongs to one Receive.
type Recheck struct {
	// Done is called when a requested comparison has ended: the copy has everything that the sender
	// had at the request. It must not wait. It is called once for all requests before the
	// comparison began.
	Done func()

	mu       sync.Mutex
	receiver *receiver
	early    bool // Ask was called before there was anybody to ask
}

// Ask requests a comparison. It does not wait.
func (c *Recheck) Ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.receiver; r != nil {
		r.frames.between(func() error { return r.compare(true) }, r.work)
	} else {
		c.early = true
	}
}

func (c *Recheck) begin(r *receiver) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.receiver = r
	early := c.early
	c.mu.Unlock()
	if early {
		c.Ask()
	}
}

func (c *Recheck) end(r *receiver) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.receiver == r {
		c.receiver = nil
	}
}

// comparing is the state of a comparison on a stream. There is one at a time.
type comparing struct {
	phase  phase
	wanted bool // by the owner, and not yet asked for
	owned  bool // the present one was
}

type phase int

const (
	// resting: there is none.
	resting phase = iota
	// requested: the sender is to begin a comparison. What arrives before its digest request is
	// older.
	requested
	// compared: the sender finds the differences. The comparison ends with the first batch after
	// which the sender has nothing more.
	compared
)

// compare asks the sender for a comparison, after the one that runs.
func (r *receiver) compare(owned bool) error {
	c := &r.comparing
	c.wanted = c.wanted || owned
	if c.phase != resting {
		return nil
	}
	c.phase, c.owned, c.wanted = requested, c.wanted, false
	return r.counter.write(r.stream, wire.TypeCompare, nil)
}

// asked records that a comparison begins.
func (r *receiver) asked() {
	if r.comparing.phase == requested {
		r.comparing.phase = compared
	}
}

// caughtUp records that the sender has nothing more to send.
func (r *receiver) caughtUp() error {
	c := &r.comparing
	if c.phase != compared {
		return nil
	}
	if c.phase = resting; c.owned {
		c.owned = false
		r.recheck.Done()
	}
	if c.wanted {
		return r.compare(true)
	}
	return nil
}
