package sessions

import (
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/traffic"
)

// usage counts what crosses the link of each target in a UTC day. It is begun from what the status
// says, so that a center that is killed forgets a minute at most, or as many seconds as there are
// targets.
type usage struct {
	mu  sync.Mutex
	of  map[string]*v1alpha1.BytesToday
	all map[string]transferred // since the start
}

// transferred is what has crossed a link.
type transferred struct{ down, up int64 }

func newUsage() *usage {
	return &usage{of: map[string]*v1alpha1.BytesToday{}, all: map[string]transferred{}}
}

// ever returns what has crossed the link of a target since this center started.
func (u *usage) ever(name string) transferred {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[name]
}

// date is the UTC day of a time.
func date(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// add counts bytes, and returns what crossed today. Quiet bytes do not count against the budget.
func (u *usage) add(name string, known target, at time.Time, c crossing, quiet bool) v1alpha1.BytesToday {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.of[name]
	if t == nil {
		t = stored(known.object.Status.BytesToday)
		u.of[name] = t
	}
	if today := date(at); t.Date != today {
		*t = v1alpha1.BytesToday{Date: today, ByPurpose: &v1alpha1.BytesByPurpose{}}
	}
	t.Down += c.down
	t.Up += c.up
	if c.down != 0 || c.up != 0 {
		ever := u.all[name]
		u.all[name] = transferred{ever.down + c.down, ever.up + c.up}
	}
	if !quiet {
		t.Budgeted += c.down + c.up
	}
	more := byPurpose(&c.by)
	for p, field := range byPurpose(t.ByPurpose) {
		*field += *more[p]
	}
	return *t.DeepCopy()
}

// forget drops a target that was removed.
func (u *usage) forget(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, name)
	delete(u.all, name)
}

// rename gives what is known of a target to another name of it.
func (u *usage) rename(from, to string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	catalog.RenameIn(u.of, from, to)
	catalog.RenameIn(u.all, from, to)
}

// stored is what the status of a SyncTarget says.
func stored(status *v1alpha1.BytesToday) *v1alpha1.BytesToday {
	t := &v1alpha1.BytesToday{}
	if status != nil {
		t = status.DeepCopy()
	}
	if t.ByPurpose == nil {
		t.ByPurpose = &v1alpha1.BytesByPurpose{}
	}
	return t
}

// account counts what has crossed in a session since the last call, says what of the link may be
// used, and returns what crossed today.
func (srv *Server) account(s *session, at time.Time) v1alpha1.BytesToday {
	known, ok := srv.targets.get(s.target)
	if !ok {
		return v1alpha1.BytesToday{}
	}
	today := srv.usage.add(s.target, known, at, s.crossed(), known.link.quiet.at(at))
	s.use.Set(known.link.use(at, today.Budgeted))
	return today
}

// crossing is what has crossed a link: payload bytes of its transport, and what they were for.
type crossing struct {
	down, up int64
	by       v1alpha1.BytesByPurpose
}

// byPurpose are the fields of what is told of each purpose.
func byPurpose(b *v1alpha1.BytesByPurpose) [traffic.Transport + 1]*int64 {
	return [...]*int64{
		traffic.Control:    &b.Control,
		traffic.Positions:  &b.Positions,
		traffic.Desired:    &b.Desired,
		traffic.Errors:     &b.Errors,
		traffic.Status:     &b.Status,
		traffic.Associated: &b.Associated,
		traffic.Events:     &b.Events,
		traffic.Streams:    &b.Streams,
		traffic.Transport:  &b.Transport,
	}
}

// crossed is what has crossed since the last call.
func (s *session) crossed() crossing {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := s.conn.Stats(), s.counted
	s.counted = now
	c := crossing{down: int64(now.SentBytes - before.SentBytes), up: int64(now.ReceivedBytes - before.ReceivedBytes)}
	all, known := int64(now.SentBytes+now.ReceivedBytes), int64(0)
	for p, field := range byPurpose(&c.by) {
		is := s.purposes[p]
		if p := traffic.Purpose(p); p != traffic.Transport {
			is = int64(s.meter.Counted(p))
			known += is
		} else {
			is = max(is, all-known) // what is written to a stream may not have left yet
		}
		*field, s.purposes[p] = is-s.purposes[p], is
	}
	return c
}

// link is how the link of a target is used when a session begins.
func (srv *Server) link(name string, at time.Time) tunnel.Link {
	known, ok := srv.targets.get(name)
	if !ok {
		return tunnel.Link{}
	}
	today := srv.usage.add(name, known, at, crossing{}, true)
	return known.link.use(at, today.Budgeted)
}
