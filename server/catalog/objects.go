package catalog

import (
	"iter"
	"slices"
)

// objects is a set of objects. Most have one, which needs no map.
type objects struct {
	one  *Object
	more map[*Object]struct{}
}

// add reports whether an object is new.
func (s *objects) add(o *Object) bool {
	_, is := s.more[o]
	switch {
	case is || s.one == o:
		return false
	case s.one == nil:
		s.one = o
	case s.more == nil:
		s.more = map[*Object]struct{}{o: {}}
	default:
		s.more[o] = struct{}{}
	}
	return true
}

func (s *objects) remove(o *Object) {
	if s.one == o {
		s.one = nil
	}
	if delete(s.more, o); len(s.more) == 0 {
		s.more = nil
	}
}

func (s objects) len() int {
	if s.one != nil {
		return 1 + len(s.more)
	}
	return len(s.more)
}

// all yields the objects. They may be removed meanwhile.
func (s objects) all() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if s.one != nil && !yield(s.one) {
			return
		}
		for o := range s.more {
			if !yield(o) {
				return
			}
		}
	}
}

func (s objects) list() []*Object { return slices.Collect(s.all()) }
