package binding

import "slices"

// joiners goes on with the places that are to replace another one.
func (s *step) joiners() {
	for i := range s.Places {
		p := s.Places[i]
		if p.Target == 0 || p.Off || p.For == 0 {
			continue
		}
		old := s.of(p.For)
		switch beside := old >= 0 && !s.Places[old].Off; {
		case s.handsOver(old): // absent goes on with both
		case s.want.has(p.Target) && s.facts.state(p.Target) == Ready:
			s.arrived(i, old, beside)
		case s.want.has(p.Target) && s.facts.overdue(p, !beside):
			s.late(i, beside)
		case !s.want.has(p.Target) && beside && s.mayGoBack(p):
			s.takeBack(i)
		case !s.want.has(p.Target) && s.first && old >= 0 && !beside && !s.pinned(p.Target) && s.released(i):
			s.leave(i, Withdrawn)
		}
	}
	s.sweep()
}

// arrived leaves what the ready place at i replaces.
func (s *step) arrived(i, old int, beside bool) {
	if !beside || s.want.has(s.Places[old].Target) {
		s.settle(&s.Places[i])
		return
	}
	if t := s.Places[old].Target; !s.pinned(t) && !s.facts.away(s.Places[i].Target) && s.released(old) {
		if s.facts.HandsOver && !s.first && !s.facts.fenced(t) {
			s.takeOff(old)
			return
		}
		s.settle(&s.Places[i])
		s.leave(old, s.why(t))
	}
}

// handsOver reports whether the place at i was left for one that is here: what comes last comes there when
// nothing is left.
func (s *step) handsOver(i int) bool {
	return i >= 0 && s.facts.HandsOver && slices.Contains(s.HandsOver(), s.Places[i].Target)
}

// heir is the index of the place that came beside the one at i to replace it, one that is wished if there is one.
func (s *step) heir(i int) int {
	heir := -1
	for j, p := range s.Places {
		if p.For == s.Places[i].Target && !p.Off && (heir < 0 || s.want.has(p.Target)) {
			heir = j
		}
	}
	return heir
}

// handOver goes on with a place that was left for one that is here: it is waited for that nothing is left
// there. What came last can still be late then, and the heir goes back.
func (s *step) handOver(i int) {
	p, heir := &s.Places[i], &s.Places[s.heir(i)]
	switch {
	case s.facts.state(p.Target) == Absent:
		for j := range s.Places {
			if other := &s.Places[j]; other != heir && other.For == p.Target {
				other.For = heir.Target // it stands beside that one now
			}
		}
		heir.Since = s.facts.now()
		s.remove(i)
	case s.facts.overdue(*p, false) && s.facts.returns(p.Target):
		s.giveUp(heir.Target)
		s.returnOn(p)
	}
}

// late gives up the place at i, and goes back to what it was to replace.
func (s *step) late(i int, beside bool) {
	p := s.Places[i]
	switch {
	case beside && s.mayGoBack(p):
		s.giveUp(p.Target)
		s.takeBack(i)
	case !beside && s.facts.returns(p.For) && !s.pinned(p.Target):
		s.giveUp(p.Target)
		s.takeOff(i)
	case !beside && len(s.fresh) > 0 && !s.pinned(p.Target):
		s.giveUp(p.Target)
		s.settle(&s.Places[i])
	}
}

// giveUp forgets a target until it is worth another try.
func (s *step) giveUp(t TargetID) {
	known, _ := s.facts.target(t)
	s.GaveUp = append(s.GaveUp, GaveUp{t, known.Try})
	same := func(w TargetID) bool { return w == t }
	s.want.list = slices.DeleteFunc(s.want.list, same)
	delete(s.want.in, t)
	s.fresh = slices.DeleteFunc(s.fresh, same)
}

// takeBack takes away a place beside the one that it was to replace.
func (s *step) takeBack(i int) {
	if s.facts.fenced(s.Places[i].Target) {
		s.leave(i, Withdrawn)
		return
	}
	s.remove(i)
}

// mayGoBack reports whether a place can be taken away again beside the one that it was to replace.
func (s *step) mayGoBack(p Place) bool {
	t, _ := s.facts.target(p.Target)
	return t.Dispensable && !t.Pinned
}

// absent goes on with what was taken off first, once its target has confirmed that nothing is left.
func (s *step) absent() {
	for i := range s.Places {
		p := &s.Places[i]
		if !p.Off || p.Target == 0 {
			continue
		}
		gone := s.facts.state(p.Target) == Absent
		if p.Leaving == Withdrawn || p.Leaving == Drained {
			if gone {
				s.remove(i)
			}
			continue
		}
		if s.handsOver(i) {
			s.handOver(i)
			continue
		}
		next, found := s.takeFresh()
		switch {
		case s.lingers(p.Target) && (found || p.Leaving != Evicted):
		case found && p.Copying && s.facts.copied(next) != CopiedWhole:
			if p.For == 0 && s.facts.overdue(*p, false) && s.facts.returns(p.Target) {
				s.giveUp(next)
				s.returnOn(p)
			}
		case gone && found && s.crowded(p.Target, true):
			s.leaveAway()
		case gone && found && s.facts.away(next) && s.free(p.For):
			s.place(i, Place{Target: p.For})
		case gone && found && s.facts.away(next) && p.For == 0 && s.facts.returns(p.Target):
			s.returnOn(p)
		case gone && found:
			s.place(i, s.joining(next, s.returnTo(*p)))
		case gone && s.free(p.For):
			s.place(i, Place{Target: p.For})
		case gone && (p.Leaving == Evicted || s.beside(*p) || s.facts.fenced(p.Target)):
			s.remove(i)
		case p.Leaving == Evicted, s.facts.fenced(p.Target):
		case gone, !found && p.For == 0:
			s.returnOn(p)
		case found && p.For == 0 && s.facts.overdue(*p, false) && s.facts.usable(p.Target):
			s.giveUp(next)
			s.returnOn(p)
		}
	}
	s.sweep()
}

// lingers reports whether something may still run on a target that came for this one: it is not left yet, or
// has not confirmed that nothing is there. Nothing begins elsewhere before that, nor here anew. The same
// holds while what must not run twice may run on enough other targets.
func (s *step) lingers(t TargetID) bool {
	return s.crowded(t, false) || slices.ContainsFunc(s.Places, func(p Place) bool {
		return p.Target != 0 && p.For == t && (!p.Off && s.first || p.Off && s.facts.state(p.Target) != Absent)
	})
}

// crowded reports whether what must not run twice may run on as many other targets as are wanted, on one of
// them because it was left and is away, or, if so asked, because it is away and to be left.
func (s *step) crowded(t TargetID, toBeLeft bool) bool {
	away, n := false, 0
	for _, p := range s.Places {
		switch {
		case !s.facts.Once || p.Target == 0 || p.Target == t:
		case !p.Off:
			n++
			away = away || toBeLeft && s.facts.fenced(p.Target) && !s.want.has(p.Target)
		case s.facts.state(p.Target) != Absent:
			n++
			away = away || s.facts.fenced(p.Target)
		}
	}
	return away && n >= len(s.want.list)
}

// leaveAway leaves the targets that are away and not wanted: what begins waits until nothing runs there.
func (s *step) leaveAway() {
	for i, p := range s.Places {
		if p.Target != 0 && !p.Off && s.facts.fenced(p.Target) && !s.want.has(p.Target) && !s.pinned(p.Target) &&
			s.released(i) {
			s.leave(i, s.why(p.Target))
		}
	}
}

// returnTo is where the place that replaces p goes back to when it is not ready in time.
func (s *step) returnTo(p Place) TargetID {
	switch {
	case s.free(p.For):
		return p.For
	case s.facts.returns(p.Target):
		return p.Target
	}
	return 0
}

// replace begins to leave each target that is not wanted: another one comes in its place, or, when
// there are more than are wanted, a ready one covers it.
func (s *step) replace() {
	spare, covered := s.spares(), s.covered()
	for i := range s.Places {
		p := s.Places[i]
		if p.Off || s.want.has(p.Target) || s.comes(p.Target) || s.beside(p) {
			continue // it stays, or joiners goes on with it
		}
		next, found := s.takeFresh()
		known, _ := s.facts.target(p.Target)
		switch {
		case known.Pinned:
		case found && known.Queued:
		case found && s.facts.Copies && s.facts.copied(next) == CopiedNot:
		case found && s.first:
			if !s.crowded(p.Target, false) && !s.facts.away(next) && s.released(i) {
				s.takeOff(i)
				s.Places[i].Copying = s.facts.Copies
			}
		case found:
			s.settle(&s.Places[i]) // there is no way back any more to what it came for
			s.add(s.joining(next, p.Target))
		case (known.Leave == Drain || spare > 0) && covered && s.mayLose(p):
			if spare--; s.released(i) {
				s.leave(i, s.why(p.Target))
			}
		}
	}
	s.sweep()
	handing := s.facts.HandsOver && len(s.HandsOver()) > 0
	for _, t := range s.fresh {
		if handing {
			break // it would be where something may still run that is to come there
		}
		if !s.first || len(s.Places) < len(s.facts.Wanted) {
			s.add(Place{Target: t})
		}
	}
	s.fresh = nil
}

// takeFresh takes the next target that nothing stands on yet.
func (s *step) takeFresh() (TargetID, bool) {
	if len(s.fresh) == 0 {
		return 0, false
	}
	t := s.fresh[0]
	s.fresh = s.fresh[1:]
	return t, true
}
