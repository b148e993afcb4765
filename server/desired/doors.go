package desired

import "skerry.dev/skerry/server/catalog"

// followDoors settles what stays a door, after targets or a space changed; nil is every space.
func followDoors(s *step, of *catalog.Space) {
	if s.bulk {
		return
	}
	for o := range s.d.catalog.Doors {
		if of == nil || o.Namespace.Space == of {
			s.settle(o, false)
			s.d.catalog.Note(o)
		}
	}
}

// CloseDoors takes an object away from where it does not stay a door any more, and sees to it that it is done again for
// the next one. The lock of the catalog must be held.
func CloseDoors(d *State, o *catalog.Object) {
	if len(d.catalog.Doors[o]) == 0 {
		return
	}
	s := d.begin(0)
	s.settle(o, false)
	s.finish()
	catalog.CloseNext(d.catalog, o)
}
