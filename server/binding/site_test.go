package binding_test

import (
	"math/bits"
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// copyOf is an object as a cluster has it.
type copyOf struct {
	uid     ObjectID
	version uint64
	ready   bool
	ended   bool
}

// report is what a site tells of all objects, and up to which revision it knew its feed then.
type report struct {
	has [things]copyOf
	pos int64
}

// site is a workload cluster with its agent. Everything in it is late.
type site struct {
	id      TargetID
	slot    int
	desired [things]copyOf // what it has durably stored of its feed
	pos     int64
	has     [things]copyOf
	bad     bool
	cut     bool // no session
	queue   []report
	// ends is when its lease ends, of one that has no session. stopped: that is over, and it has not
	// heard since then what is desired.
	ends    int64
	stopped bool
}

// lease is how long after its last session an agent stops what must not run twice.
const lease = 500

// leased reports whether the agent does so.
func (s *site) leased() bool { return s.slot != 0 }

// lose ends the session of a site.
func (s *site) lose(now int64) {
	s.queue = nil
	if !s.cut {
		s.cut, s.ends = true, now+lease
	}
}

// expired reports whether nothing runs any more at a site that is away, of what must not run twice.
func (s *site) expired(now int64) bool { return s.cut && s.leased() && now >= s.ends }

// expire lets the agent of a site stop what must not run twice.
func (w *world) expire(s *site) {
	if !s.expired(w.now) {
		return
	}
	s.stopped = true
	for i := range s.has {
		if w.alone(s.has[i].uid) {
			s.has[i] = copyOf{}
		}
	}
}

// alone reports whether an object must not run twice.
func (w *world) alone(id ObjectID) bool {
	t := w.head().thing(id)
	return t != nil && (t.once || t.leased)
}

// sync stores the leader's feed durably.
func (s *site) sync(l *leader) {
	if s.cut || !l.open {
		return
	}
	v := l.view()
	on := feeds(v, l.x)
	for i := range v.things {
		s.desired[i] = copyOf{}
		if on[i]&(1<<s.id) != 0 {
			s.desired[i] = copyOf{uid: v.things[i].uid, version: v.things[i].version, ended: v.things[i].ended}
		}
	}
	s.pos, s.stopped = v.rev, false
}

// act brings one object nearer to what is desired.
func (w *world) act(s *site, i int) {
	want, have := s.desired[i], s.has[i]
	switch {
	case have.uid != "" && have.uid != want.uid:
		s.has[i] = copyOf{}
	case want.uid == "" || want.ended && have.uid == "":
	case s.stopped && w.alone(want.uid): // not before it has heard that it is still desired
	case have.uid == "":
		s.has[i] = copyOf{uid: want.uid, version: want.version, ready: !s.bad}
		w.check.made(s, i)
	case have.version != want.version:
		s.has[i].version, s.has[i].ready = want.version, !s.bad
	default:
		s.has[i].ready = !s.bad
	}
	if c := s.has[i]; c.ready {
		w.check.ready(s, i)
	}
}

// tell puts a report on its way.
func (s *site) tell() {
	if !s.cut && len(s.queue) < 4 {
		s.queue = append(s.queue, report{s.has, s.pos})
	}
}

// hear takes the oldest report of a site into the leader's inbox, and the end of a Job into the
// store.
func (w *world) hear(s *site) {
	if len(s.queue) == 0 || s.cut {
		return
	}
	r := s.queue[0]
	s.queue = s.queue[1:]
	w.leader.inbox[s.id] = r
	w.leader.confirmed[s.id] = r.pos
	for i, c := range r.has {
		if t := w.head().things[i]; c.ended && t.uid == c.uid && !t.ended {
			w.user(func(s *state) { s.things[i].ended = true; s.things[i].mod = s.rev })
		}
	}
}

// finish ends a Job in a cluster.
func (w *world) finish(s *site, i int) {
	t := w.head().thing(s.has[i].uid)
	if c := &s.has[i]; t != nil && (t.once || t.runs) && c.ready {
		c.ended = true
	}
}

// fenced checks that what must not run twice is started nowhere while it may run on targets that it has
// left or leaves, and that were known to be away.
func (c *checker) fenced(t *thingRow, i int, was, now uint64, by *attempt, r Ref) {
	if !t.once && !t.leased {
		return
	}
	f := &c.fates[i]
	f.left = (f.left | was&^now&by.away) &^ now
	beside := uint64(0)
	for _, p := range c.x.Record(r).Places {
		if p.Leaving != Stays {
			beside |= now & by.away & (1 << p.Target)
		}
	}
	for id := TargetID(1); id < mostIDs; id++ {
		if s := c.w.sites[id]; s == nil || s.has[i].uid != t.uid {
			f.left, beside = f.left&^(1<<id), beside&^(1<<id)
		}
	}
	if now&^was != 0 && f.left|beside != 0 && bits.OnesCount64(now|f.left) > f.copies {
		breaks(propFence, "%s: %b -> %b, and it runs on %b", t.uid, was, now, f.left|beside)
	}
}

// breaks reports whether a record breaks first because of a target that is, or was, away.
func (c *checker) breaks(s *state, by *attempt, r Ref) bool {
	leased := false
	for j := range s.things {
		t := &s.things[j]
		leased = leased || t.uid != "" && t.leased && c.x.Of(t.uid, t.stamp) == r
	}
	return leased && (by.away != 0 ||
		slices.ContainsFunc(c.x.Record(r).Places, func(p Place) bool { return p.Off }))
}
