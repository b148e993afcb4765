package desired

import "skerry.dev/skerry/server/catalog"

// followDoors settles what stays a door, after targets or a space changed; nil is every space.
func followDoors(s *step, of *catalog.Space) {
	if s.bulk {
		return
	}
	for o := range s.st.catalog.Doors {
		if of == nil || o.Namespace.Space == of {
			s.settle(o, false)
			s.st.catalog.Note(o)
		}
	}
}

// CloseDoors takes an object away from where it does not stay a door any more, and sees to it that it is done again for
// the next one. The lock of the catalog must be held.
func CloseDoors(st *State, o *catalog.Object) {
	if len(st.catalog.Doors[o]) == 0 {
		return
	}
	s := st.begin(0)
	s.settle(o, false)
	s.finish()
	catalog.CloseNext(st.catalog, o)
}
