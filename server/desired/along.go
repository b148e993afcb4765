package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// lead lets what goes along with an object follow it, and says what does not. kept and intended are those
// of leave.
func (s *step) lead(o *catalog.Object, moved, kept, intended bool) {
	for _, f := range s.st.catalog.Leads(o) {
		f.Keeps, f.Goes = kept, intended
		s.settle(f, false)
	}
	s.st.catalog.NotesPlace(o)
	for _, w := range o.Sharing() {
		s.st.catalog.NotesPlace(w)
	}
	for _, leader := range s.st.catalog.Alone(o, moved) {
		s.st.catalog.NotesPlace(leader)
	}
}

// leadAll has all followers know where what they follow is before any is settled, so that no feed loses for
// a moment what a snapshot has there. A Service leads only once it knows where it goes itself.
func (s *step) leadAll() {
	for _, following := range []bool{false, true} {
		s.st.catalog.EachObject(func(o *catalog.Object) {
			if placement.GoesAlong(o.Kind.Group, o.Kind.Resource) == following {
				s.st.catalog.Leads(o)
			}
		})
	}
}
