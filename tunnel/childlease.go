package tunnel

import (
	"context"
	"time"

	"skerry.dev/skerry/tunnel/lease"
	"skerry.dev/skerry/tunnel/wire"
)

// LeaseHolder is what a child keeps of its lease. Its methods are called by one session at a time.
type LeaseHolder interface {
	// Begin is called when the parent has let a session in.
	Begin()
	// Request returns what to send now. after is how long to wait before the next one if nothing
	// happens; 0 sends none.
	Request() (r lease.Request, after time.Duration)
	// Answered stores an answer. It reports whether the parent is to be asked again at once, so that
	// it learns what binds the child now.
	Answered(a lease.Answer) (again bool)
}

// LeaseGranter answers the requests of a child. Its methods must not wait.
type LeaseGranter interface {
	// Begin is called when a session of the child begins, before its first request.
	Begin()
	// Answer returns the answer to a request, having noted that the child was answered. It reports
	// false when there is none: this parent may not answer.
	Answer(r lease.Request) (lease.Answer, bool)
}

// AskLease asks a child to send a lease.Request: its terms are others.
type AskLease struct{}

func (AskLease) frame() wire.Type { return typeAskLease }

// renewLease sends requests from the welcome on: at once, when it is asked to, and as often as the
// terms demand.
func (c *child) renewLease(ctx context.Context) error {
	if c.Lease == nil {
		return nil
	}
	next := time.NewTimer(0)
	defer next.Stop()
	next.Stop()
	for {
		select {
		case <-c.askLease:
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
		r, after := c.Lease.Request()
		if err := c.control.send(typeRequestLease, r); err != nil {
			return err
		}
		next.Stop()
		if after > 0 {
			next.Reset(after)
		}
	}
}

// askForLease has a request sent now.
func (c *child) askForLease() {
	select {
	case c.askLease <- struct{}{}:
	default: // one is about to be sent
	}
}

// leaseAnswered takes an answer.
func (c *child) leaseAnswered(payload []byte) error {
	a, err := decode[lease.Answer](payload)
	if err == nil && c.Lease != nil && c.Lease.Answered(a) {
		c.askForLease()
	}
	return err
}

// leaseRequested answers a request.
func (p *parent) leaseRequested(payload []byte) error {
	r, err := decode[lease.Request](payload)
	if err != nil {
		return err
	}
	if p.Lease == nil {
		return nil
	}
	if a, ok := p.Lease.Answer(r); ok {
		return p.control.send(typeLease, a)
	}
	return nil
}
