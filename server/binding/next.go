package binding

import "slices"

// Next is the next step of a record. It is pure: the same record and facts give the same step, and
// a record that is at rest is returned as it is. The caller stores what differs, by compare and
// swap, in one write.
//
// Each pair of a target that leaves and one that comes in its place goes on by itself. A target is
// left when its counterpart is ready, or, where the unit breaks first, before that.
func Next(r Record, f Facts) Record {
	s := step{Record: r.clone(), facts: &f, first: f.BreakFirst || f.Copies}
	s.finder = find(s.Places)
	s.wished = setOf(f.Wanted)
	s.unmarked()
	switch {
	case f.Suspended:
		s.pause()
	case f.Ended:
		s.dropDeleted()
		s.rest()
	case f.Empty:
		s.dropDeleted()
		s.straight()
	default:
		s.dropDeleted()
		s.resume()
		s.evict()
		s.forget()
		s.aim()
		s.comeBack()
		s.joiners()
		s.absent()
		s.replace()
		s.mark()
	}
	s.sweep()
	if !f.Suspended {
		s.single(r)
	}
	if !s.SamePlaces(r) {
		s.Generation++
	}
	return s.Record
}

// step is a record while its next step is found. A place that was removed has target 0 until sweep.
type step struct {
	Record
	finder
	facts  *Facts
	wished set        // Facts.Wanted
	want   set        // where it should be, without what was given up
	fresh  []TargetID // those of want that nothing stands on or waits for yet
	// joins has, by the target that is to be replaced, the place of the wanted target that comes.
	joins map[TargetID]int
	first bool                  // a target is left, and has confirmed that, before another one is joined
	left  bool                  // a place was removed
	gone  map[TargetID]struct{} // what was left for good: nothing comes in its place any more
	// leaving are the targets that would be left in this step but for their hooks, or are.
	leaving map[TargetID]struct{}
}

// pause stops the time of what is waited for.
func (s *step) pause() {
	for i := range s.Places {
		if p := &s.Places[i]; p.Hooks == (Hooks{}) {
			p.Since = 0
		}
	}
}

// resume lets the time of what is waited for begin anew after a pause.
func (s *step) resume() {
	for i := range s.Places {
		if p := &s.Places[i]; p.Since == 0 && (p.Off || p.For != 0) {
			p.Since = s.facts.now()
		}
	}
}

// dropDeleted forgets targets that do not exist any more.
func (s *step) dropDeleted() {
	exists := func(t TargetID) bool { _, ok := s.facts.target(t); return ok }
	for i := range s.Places {
		if p := &s.Places[i]; !exists(p.Target) {
			s.remove(i)
		} else if p.For != 0 && !exists(p.For) {
			s.settle(p)
		}
	}
	s.sweep()
	s.GaveUp = slices.DeleteFunc(s.GaveUp, func(g GaveUp) bool { return !exists(g.Target) })
}

// straight goes where it is wanted in one step: there is nothing to keep available.
func (s *step) straight() {
	s.GaveUp = nil
	var to []TargetID
	for _, t := range s.Here() {
		if s.facts.Wish == NoOpinion || s.facts.Wish == Somewhere && s.wished.has(t) {
			to = append(to, t)
		}
	}
	if s.facts.Wish == Somewhere {
		for _, t := range s.facts.Wanted {
			if !s.has(t) {
				to = append(to, t)
			}
		}
	}
	s.Places = s.Places[:0]
	for _, t := range to {
		if s.facts.usable(t) {
			s.Places = append(s.Places, Place{Target: t})
		}
	}
}

// rest lets what has run to its end stay where it is, and join nothing.
func (s *step) rest() {
	s.GaveUp = nil
	for i := range s.Places {
		p := &s.Places[i]
		switch {
		case !s.facts.usable(p.Target) || p.Off && s.facts.state(p.Target) == Absent:
			s.remove(i)
		case !p.Off:
			s.settle(p)
		}
	}
}

// evict leaves what must be left now.
func (s *step) evict() {
	for i := range s.Places {
		t, _ := s.facts.target(s.Places[i].Target)
		switch {
		case t.Leave == Evict && !s.Places[i].Off:
			if s.released(i) {
				s.leave(i, Evicted)
			}
		case t.Leave == Evict:
			s.Places[i].Leaving = Evicted
		}
	}
	s.sweep()
}

// forget drops what was given up and is worth another try, or not wanted any more.
func (s *step) forget() {
	s.GaveUp = slices.DeleteFunc(s.GaveUp, func(g GaveUp) bool {
		t, _ := s.facts.target(g.Target)
		return t.Try != g.Try || s.facts.Wish != Somewhere ||
			!s.wished.has(g.Target) && !slices.Contains(s.facts.Passed, g.Target)
	})
}

// aim finds where the record should be.
func (s *step) aim() {
	var want []TargetID
	switch s.facts.Wish {
	case Nowhere:
		for i := range s.Places {
			if s.Places[i].Off {
				s.Places[i].Leaving = Withdrawn
			} else if s.released(i) {
				s.leave(i, Withdrawn)
			}
		}
		s.sweep()
	case NoOpinion:
		for _, p := range s.Places {
			// What was to come in the place of another one is not wished any more: the other stays.
			if s.stays(p) && (p.For == 0 || s.of(p.For) < 0 && !p.Off) {
				want = append(want, p.Target)
			}
		}
	case Somewhere:
		given := make([]TargetID, 0, len(s.GaveUp))
		for _, g := range s.GaveUp {
			given = append(given, g.Target)
		}
		gaveUp := setOf(given)
		for _, t := range s.facts.Wanted {
			if s.facts.usable(t) && !gaveUp.has(t) {
				want = append(want, t)
			}
		}
	}
	s.want = setOf(want)
	s.pairUp()
	s.first = s.first || s.facts.Once && slices.ContainsFunc(s.Places, func(p Place) bool {
		if p.Off && s.handsOver(s.of(p.Target)) {
			return false
		}
		return p.Off || s.facts.fenced(p.Target) && !s.want.has(p.Target)
	}) || len(s.Copying()) > 0
}

// pairUp notes which wanted target comes for which.
func (s *step) pairUp() {
	for i, p := range s.Places {
		if p.For != 0 && !p.Off && s.want.has(p.Target) {
			s.join(p.For, i)
		}
	}
}

// stays reports whether a place goes on when nothing is wished.
func (s *step) stays(p Place) bool {
	return s.facts.usable(p.Target) && (!p.Off || p.Leaving == Replaced)
}

// comeBack returns to targets that were left for another one which is not wanted any more.
func (s *step) comeBack() {
	for i := range s.Places {
		p := &s.Places[i]
		if p.Off && p.Leaving == Replaced && s.want.has(p.Target) && !s.lingers(p.Target) {
			s.returnOn(p)
		}
	}
	for _, t := range s.want.list {
		if s.of(t) < 0 {
			s.fresh = append(s.fresh, t)
		}
	}
	slices.SortStableFunc(s.fresh, func(a, b TargetID) int {
		return int(bit(s.facts.away(a))) - int(bit(s.facts.away(b)))
	})
}

// mark says of each place why it ends.
func (s *step) mark() {
	s.sweep()
	spare := s.spares()
	for i := range s.Places {
		p := &s.Places[i]
		if p.Off {
			continue
		}
		p.Leaving = Stays
		t, _ := s.facts.target(p.Target)
		switch {
		case t.Leave == Evict && s.held(*p):
			p.Leaving = Evicted
		case t.Leave == Drain:
			p.Leaving = Drained
		case s.want.has(p.Target):
		case s.comes(p.Target):
			p.Leaving = Replaced
		case s.beside(*p), spare > 0:
			p.Leaving = Withdrawn
		case s.held(*p):
			p.Leaving = Replaced
		}
		if p.Leaving == Stays {
			p.forgetHooks() // it is not left: the next time they run anew
		}
	}
}
