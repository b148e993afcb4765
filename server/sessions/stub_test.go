package sessions

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/lease"
)

// stub is the delivery, the inboxes, the summary and the process of a center, the same for all
// targets. What a
// test does not set is empty, or not told.
type stub struct {
	feed      func() *store.Feed
	inbox     func() store.Sink
	count     func() int // of what is placed
	unkept    func() int
	confirmed func(target string, revision int64)
	tally     func() placement.Tally
	moves     func() []placement.Moving
	remaining func() (placement.Remaining, bool)
	len       func() int
	room      func() placement.Room
	outage    func(target string)
	event     func(e placement.Event)
	forgotten func(target string)
	above     func() []store.Incarnation
	lease     func() lease.Own
}

// in returns a configuration of which the stub is a part.
func (s *stub) in(cfg Config) Config {
	cfg.Delivery, cfg.Inboxes, cfg.Summary, cfg.Center = s, s, s, s
	cfg.Outages, cfg.Leases = catalog.NewOutages(), catalog.NewLeases()
	return cfg
}

func (s *stub) Feed(string) *store.Feed           { return or(s.feed) }
func (s *stub) Count(string) int                  { return or(s.count) }
func (s *stub) MovesOf(string) []placement.Moving { return or(s.moves) }
func (s *stub) Open(string) (store.Sink, error)   { return or(s.inbox), nil }
func (s *stub) Len(string) int                    { return or(s.len) }
func (s *stub) Unkept(string) int                 { return or(s.unkept) }
func (s *stub) Tally(string, int) placement.Tally { return or(s.tally) }
func (s *stub) Above() []store.Incarnation        { return or(s.above) }
func (*stub) Copy(_, _ string) error              { return nil }
func (*stub) Connected()                          {}
func (*stub) Withheld(string, tunnel.WithheldIn)  {}
func (*stub) Rotated()                            {}
func (*stub) Leads() bool                         { return true }
func (s *stub) Lease() (lease.Own, bool)          { return or(s.lease), true }

// Streams implements Center: no target opens streams here.
func (*stub) Streams(tunnel.Identity) tunnel.StreamHandler { return nil }

func (s *stub) Remaining(string) (placement.Remaining, bool) {
	if s.remaining == nil {
		return placement.Remaining{}, false
	}
	return s.remaining()
}

func (s *stub) Room(string) (placement.Room, int) { return or(s.room), or(s.count) }

func (s *stub) Confirmed(target string, revision int64) {
	if s.confirmed != nil {
		s.confirmed(target, revision)
	}
}

func (s *stub) Outage(target string) {
	if s.outage != nil {
		s.outage(target)
	}
}

func (s *stub) Event(e placement.Event) {
	if s.event != nil {
		s.event(e)
	}
}

func (s *stub) Forget(target string) {
	if s.forgotten != nil {
		s.forgotten(target)
	}
}

// or calls a function; one that is nil returns nothing.
func or[T any](f func() T) (nothing T) {
	if f == nil {
		return nothing
	}
	return f()
}
