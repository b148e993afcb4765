package delta

import (
	"sync"

	"skerry.dev/skerry/tunnel/wire"
)

// Recheck lets the owner of a copy have it compared with its sender while a Receive keeps it, and be told when what the sender has after the question is
// what the copy has. It belongs to one Receive.
type Recheck struct {
	// Done is called when a comparison that Ask asked for has ended: the copy has all that the sender had when it was asked. It must not wait, and
	// comes once for all calls of Ask before the comparison began.
	Done func()

	mu       sync.Mutex
	receiver *receiver
	early    bool // Ask was called before there was anybody to ask
}

// Ask asks for a comparison. It does not wait.
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

// comparing is how far a comparison is on a stream. There is one at a time.
type comparing struct {
	phase  phase
	wanted bool // by the owner, and not yet asked for
	owned  bool // the present one was
}

type phase int

const (
	// resting: there is none.
	resting phase = iota
	// requested: the sender is to begin one. What comes before its question is from before.
	requested
	// compared: the sender finds the differences. It ends with the first batch behind which it has nothing more to send.
	compared
)

// compare asks the sender to compare, after the comparison that there is.
func (r *receiver) compare(owned bool) error {
	c := &r.comparing
	c.wanted = c.wanted || owned
	if c.phase != resting {
		return nil
	}
	c.phase, c.owned, c.wanted = requested, c.wanted, false
	return r.counter.write(r.stream, wire.TypeCompare, nil)
}

// asked notes that a comparison begins.
func (r *receiver) asked() {
	if r.comparing.phase == requested {
		r.comparing.phase = compared
	}
}

// caughtUp notes that the sender had nothing more to send.
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
