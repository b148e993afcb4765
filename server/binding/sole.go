package binding

import "slices"

// single marks the places that have what must exist once: one, or, while it goes to another target,
// both. before is the record as it was. A place that is Off keeps its mark: until it has confirmed
// that nothing is left, no other one gets it.
func (s *step) single(before Record) {
	if !s.facts.Singles {
		for i := range s.Places {
			s.Places[i].Sole = false
		}
		return
	}
	to := s.soleTo()
	if to < 0 {
		return
	}
	had, target := before.Soles(), s.Places[to].Target
	arrived := s.first || slices.Contains(had, target) && s.facts.serves(target)
	for i := range s.Places {
		p := &s.Places[i]
		p.Sole = i == to || p.Sole && (!arrived || s.held(*p)) && slices.Contains(had, p.Target)
	}
}

// unmarked marks the place that has what must exist once and came after the last step: the first one of
// Here. It must be marked before that place is left.
func (s *step) unmarked() {
	if !s.facts.Singles || slices.ContainsFunc(s.Places, func(p Place) bool { return p.Sole }) {
		return
	}
	if i := slices.IndexFunc(s.Places, func(p Place) bool { return !p.Off }); i >= 0 && s.facts.SoleAt == 0 {
		s.Places[i].Sole = true
	}
}

// soleTo is the index of the place that is to have what must exist once, -1 when there is none.
func (s *step) soleTo() int {
	sole, stays, here := -1, -1, -1
	for i, p := range s.Places {
		switch {
		case p.Sole && (p.Off || s.facts.fenced(p.Target) || s.first && s.held(p)):
			return -1
		case p.Off:
			continue
		case p.Target == s.facts.SoleAt:
			return i
		}
		if p.Sole && sole < 0 {
			sole = i
		}
		if p.Leaving == Stays && !s.beside(p) && stays < 0 {
			stays = i
		}
		if here < 0 {
			here = i
		}
	}
	switch {
	case sole >= 0 && s.Places[sole].Leaving == Stays:
		return sole
	case sole >= 0 && s.comes(s.Places[sole].Target):
		return s.joins[s.Places[sole].Target]
	case stays >= 0:
		return stays
	case sole >= 0:
		return sole
	}
	return here
}

// mayLose reports whether a target can be left that nothing comes for: what must exist once is
// ready on another one first, or, where the unit breaks first, comes there afterwards.
func (s *step) mayLose(p Place) bool {
	if !p.Sole || !s.facts.Singles || s.first {
		return true
	}
	return slices.ContainsFunc(s.Places, func(o Place) bool {
		return o.Target != p.Target && o.Sole && !o.Off && s.want.has(o.Target) && s.facts.serves(o.Target)
	})
}
