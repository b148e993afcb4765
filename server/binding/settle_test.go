package binding_test

import (
	"math/bits"
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// mostRounds and mostFlips are how long it may take to come to rest, and how many changes of place
// it may take, when nobody changes anything any more.
const (
	mostRounds = 80
	mostFlips  = 24
)

// settle lets nobody change anything any more, heals what is bad, and waits. All must come to rest
// where it is wished. A new leader, and the loss of all sites, then move nothing.
func (w *world) settle() {
	w.tale("all settles")
	for len(w.flying) > 0 {
		w.landLate(0)
	}
	w.user(func(s *state) {
		for i := range s.books {
			s.books[i].suspended = false
		}
	})
	for _, s := range w.sites {
		s.bad, s.cut = false, false
	}
	w.restUntil(1, mostFlips, propRest)
	w.user(func(s *state) { // what was given up before all was healed is tried again
		for i := range s.targets {
			s.targets[i].touched++
		}
	})
	w.restUntil(2, mostFlips, propRest)
	w.arrived()
	w.check.atRest()
	w.check.sameAsFresh(w.leader)
	before := w.head().generations()
	w.lead(nil)
	w.restUntil(2, 0, propInput)
	w.lead(nil)
	for _, s := range w.sites {
		s.lose(w.now)
	}
	w.restUntil(2, 0, propSilence)
	for _, s := range w.sites {
		s.cut = false
	}
	w.restUntil(2, 0, propInput)
	if now := w.head().generations(); now != before {
		breaks(propInput, "%d generations more", now-before)
	}
}

// restUntil plays rounds until the leader has had nothing to do for some. So many changes of place
// may be made meanwhile, or a property is broken.
func (w *world) restUntil(rounds, flips int, property string) {
	w.check.flips = 0
	quiet := 0
	for n := 0; quiet < rounds; n++ {
		rev := w.head().rev
		w.round()
		w.endAll()
		w.tick(400)
		if quiet++; w.head().rev != rev {
			quiet = 0
		}
		if n > mostRounds {
			breaks(propRest, "after %d rounds", n)
		}
	}
	if w.check.flips > flips {
		breaks(property, "%d changes of place", w.check.flips)
	}
}

// generations counts those of the units that decide about an object.
func (s *state) generations() (n int64) {
	for i := range s.things {
		if t := &s.things[i]; t.uid != "" {
			if b := s.binding(s.wished(t)); b != nil {
				n += b.Generation
			}
		}
	}
	return n
}

// arrived checks that everything is where it is wished, and says so.
func (w *world) arrived() {
	s := w.head()
	for i := range s.things {
		t := &s.things[i]
		if t.uid == "" {
			continue
		}
		r := w.check.x.Of(t.uid, t.stamp)
		if t.ended {
			continue
		}
		id := s.wished(t)
		b, _ := w.check.x.Binding(id)
		wish, want := s.choose(s.wishOf(id), b.Record, func(TargetID) bool { return false })
		if wish == NoOpinion {
			continue
		}
		if r != (Ref{Unit: id}) || t.stamp != id {
			breaks(propArrives, "%s is with %v, its stamp is %s, %s is wished", t.uid, r, t.stamp, id)
		}
		var bitsOf uint64
		for _, target := range want {
			bitsOf |= 1 << target
		}
		if w.check.on[i] != bitsOf {
			breaks(propArrives, "%s is on %b, wished on %b: %v", t.uid, w.check.on[i], bitsOf, b)
		}
		n := 0
		for _, site := range w.sites {
			if site.has[i].uid == t.uid {
				n++
			}
		}
		if n != bits.OnesCount64(bitsOf) {
			breaks(propArrives, "%s is on %d clusters", t.uid, n)
		}
	}
	for i := range s.cohorts {
		c := &s.cohorts[i]
		if s.hidden(c) {
			continue
		}
		if !c.Ended && s.wishOf(c.To).kind != silent {
			if _, want := s.choose(s.wishOf(c.To), Record{}, func(TargetID) bool { return false }); want != nil {
				breaks(propArrives, "cohort %d is left over: %+v", c.Seq, *c)
			}
		}
	}
}

// hidden reports whether an older cohort names a member, too: then this one has to stay.
func (s *state) hidden(c *cohortRow) bool {
	for i := range s.cohorts {
		for _, o := range s.cohorts[i].Members {
			if s.cohorts[i].Seq < c.Seq && slices.Contains(c.Members, o) {
				return true
			}
		}
	}
	return false
}
