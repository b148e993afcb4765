package binding

import "slices"

// add appends a place.
func (s *step) add(p Place) {
	s.Places = append(s.Places, p)
	if s.at == nil && len(s.Places) > few {
		s.finder = find(s.Places)
	}
	s.place(len(s.Places)-1, p)
}

// place puts another place at an index.
func (s *step) place(i int, p Place) {
	p.Sole = p.Sole || s.Places[i].Off && s.Places[i].Sole // what was left first comes with its mark
	if s.at != nil {
		delete(s.at, s.Places[i].Target)
		s.at[p.Target] = i
	}
	s.Places[i] = p
	s.places = s.Places
	if p.For != 0 {
		s.join(p.For, i)
	}
}

// join notes that a wanted target comes for another one.
func (s *step) join(instead TargetID, i int) {
	if s.joins == nil {
		s.joins = map[TargetID]int{}
	}
	s.joins[instead] = i
}

// remove takes a place away; it is gone after the next sweep.
func (s *step) remove(i int) {
	if s.at != nil {
		delete(s.at, s.Places[i].Target)
	}
	s.Places[i] = Place{}
	s.left = true
}

// sweep drops the places that were removed.
func (s *step) sweep() {
	if !s.left {
		return
	}
	n := 0
	for _, p := range s.Places {
		if _, gone := s.gone[p.For]; gone {
			s.settle(&p)
		}
		if p.Target != 0 {
			s.Places[n] = p
			n++
		}
	}
	s.Places, s.left, s.gone = s.Places[:n], false, nil
	s.finder = find(s.Places)
	s.joins = nil
	s.pairUp()
}

// settle ends what a place is waited for.
func (s *step) settle(p *Place) {
	*p = Place{Target: p.Target, Off: p.Off, Leaving: p.Leaving, Sole: p.Sole, Copying: p.Copying}
}

// returnOn returns to a target that was taken off.
func (s *step) returnOn(p *Place) { *p = Place{Target: p.Target, Sole: p.Sole} }

// takeOff takes a place out of the feeds, to put another one in its place when it is left.
func (s *step) takeOff(i int) {
	p := &s.Places[i]
	p.Off, p.Leaving, p.Since, p.Hooks = true, Replaced, s.facts.now(), Hooks{}
}

// leave takes a place out of the feeds: for good, or, where the unit breaks first or the target is
// away, until it is known that nothing is left there. What was to replace it stands by itself after the next sweep.
func (s *step) leave(i int, why Reason) {
	if s.first || s.facts.fenced(s.Places[i].Target) {
		p := &s.Places[i]
		p.Off, p.Leaving, p.Since, p.Hooks = true, why, s.facts.now(), Hooks{}
		return
	}
	if s.gone == nil {
		s.gone = map[TargetID]struct{}{}
	}
	s.gone[s.Places[i].Target] = struct{}{}
	s.remove(i)
}

// joining is the place of a target that comes for another one.
func (s *step) joining(t, instead TargetID) Place {
	if instead == t || instead == 0 {
		return Place{Target: t}
	}
	return Place{Target: t, For: instead, Since: s.facts.now()}
}

// beside reports whether a place stands beside the one that it is to replace.
func (s *step) beside(p Place) bool { return p.For != 0 && s.of(p.For) >= 0 }

// comes reports whether a wanted target is about to replace this one.
func (s *step) comes(t TargetID) bool {
	i, ok := s.joins[t]
	if !ok {
		return false
	}
	p := s.Places[i]
	return p.For == t && !p.Off && s.want.has(p.Target)
}

// spares is how many more places there are than are wanted, without those that come for others.
func (s *step) spares() int {
	n := -len(s.facts.Wanted)
	for _, p := range s.Places {
		if p.Target != 0 && !p.Off && !s.beside(p) {
			n++
		}
	}
	return n
}

// covered reports whether a wanted target is ready, and heard.
func (s *step) covered() bool {
	for _, p := range s.Places {
		if p.Target != 0 && !p.Off && s.want.has(p.Target) && s.facts.serves(p.Target) {
			return true
		}
	}
	return false
}

// free reports whether a target may be returned to, and has no place yet.
func (s *step) free(t TargetID) bool { return t != 0 && s.facts.returns(t) && s.of(t) < 0 }

func (s *step) pinned(t TargetID) bool {
	known, _ := s.facts.target(t)
	return known.Pinned
}

// Leaves reports whether a target is about to be left for another one: that comes in its place, or waits
// until nothing is left there, or a hook has begun.
func (r Record) Leaves(t TargetID) bool {
	return slices.ContainsFunc(r.Places, func(p Place) bool {
		return p.For == t && !p.Off || p.Target == t && (p.Off || p.Hooks.Began != 0)
	})
}

// why is the reason of leaving a target for good.
func (s *step) why(t TargetID) Reason {
	if known, _ := s.facts.target(t); known.Leave == Drain {
		return Drained
	}
	return Withdrawn
}
