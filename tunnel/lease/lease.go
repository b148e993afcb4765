package lease

import "time"

// Terms are what holds when a child is not heard.
type Terms struct {
	// Duration is how long the lease lasts from each renewal. 0 is no lease.
	Duration time.Duration `json:"duration,omitempty"`
	// Stop: what must not run twice is stopped at its end. Otherwise all goes on.
	Stop bool `json:"stop,omitempty"`
}

// Fences reports whether a parent may rely on what must not run twice being stopped.
func (t Terms) Fences() bool { return t.Stop && t.Duration > 0 }

// Request asks a parent to renew a lease.
type Request struct {
	// N counts the requests of a session, from 1.
	N int64 `json:"n"`
	// Answered is the newest request of the session whose answer the child has durably stored.
	Answered int64 `json:"answered,omitempty"`
	// Has are the terms that bind the child.
	Has Terms `json:"has,omitzero"`
	// Refuses: the site does not let its parent stop anything.
	Refuses bool `json:"refuses,omitempty"`
	// Pending: the child is a relay, and some target of it has not confirmed yet that it stops.
	Pending bool `json:"pending,omitempty"`
	// Ended: the lease has ended, and nothing of what must not run twice runs at the child.
	Ended bool `json:"ended,omitempty"`
}

// Answer is what a parent says to a Request.
type Answer struct {
	// N is that of the Request.
	N     int64 `json:"n"`
	Terms Terms `json:"terms,omitzero"`
	// For is how long the lease lasts, counted from when the Request was sent. It is less than
	// Terms.Duration where the parent's own lease ends before. 0 or less renews nothing.
	For time.Duration `json:"for,omitempty"`
	// Behind: the child lacks something of what is desired. What it has stopped it must not start
	// again, because that may be what it lacks: that it has left.
	Behind bool `json:"behind,omitempty"`
}

// Renewal is how often a child asks. 0 is never again without being told to: nothing depends on it.
func (t Terms) Renewal() time.Duration {
	if !t.Fences() {
		return 0
	}
	return min(max(t.Duration/renewals, shortestRenewal), longestRenewal)
}

// ahead is by how much the child's lease ends before its duration does: the time that it takes to
// tell the target to stop.
func (t Terms) ahead() time.Duration { return min(t.Duration/renewals, longestAhead) }

const (
	// renewals is how many renewals have to fail before a lease ends.
	renewals        = 6
	shortestRenewal = time.Second
	longestRenewal  = 10 * time.Minute
	longestAhead    = 10 * time.Second
)
