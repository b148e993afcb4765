package binding

// few is the length of a list that is searched faster than a map.
const few = 16

// finder finds the places of a record by target. Below few places it is the slice alone, so that
// the many small records cost nothing more.
type finder struct {
	places []Place
	at     map[TargetID]int
}

func find(places []Place) finder {
	f := finder{places: places}
	if len(places) > few {
		f.at = make(map[TargetID]int, len(places))
		for i, p := range places {
			f.at[p.Target] = i
		}
	}
	return f
}

// of returns the index of a target's place, -1 when it has none.
func (f *finder) of(t TargetID) int {
	if f.at != nil {
		if i, ok := f.at[t]; ok {
			return i
		}
		return -1
	}
	for i := range f.places {
		if f.places[i].Target == t && t != 0 {
			return i
		}
	}
	return -1
}

// has reports whether the feed of a target has what the record decides about.
func (f *finder) has(t TargetID) bool {
	i := f.of(t)
	return i >= 0 && !f.places[i].Off
}

// set is a list of targets, with a map when it is long.
type set struct {
	list []TargetID
	in   map[TargetID]struct{}
}

func setOf(list []TargetID) set {
	s := set{list: list}
	if len(list) > few {
		s.in = make(map[TargetID]struct{}, len(list))
		for _, t := range list {
			s.in[t] = struct{}{}
		}
	}
	return s
}

func (s *set) has(t TargetID) bool {
	if s.in != nil {
		_, ok := s.in[t]
		return ok
	}
	for _, other := range s.list {
		if other == t {
			return true
		}
	}
	return false
}
