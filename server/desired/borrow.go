package desired

import (
	"maps"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
)

// borrow takes over whose definitions serve a space. They have to be where anything of the space
// is, besides where they are already.
func (s *step) borrow(sp *catalog.Space, apis []v1alpha1.SharedAPI) {
	next := map[string]string{}
	for _, a := range apis {
		next[a.Group] = a.FromSpace
	}
	if maps.Equal(next, sp.Borrows) {
		return
	}
	touched := map[*catalog.Space]struct{}{}
	for _, lender := range sp.Borrows {
		if l := s.st.catalog.Spaces[lender]; l != nil {
			delete(l.LentTo, sp)
			touched[l] = struct{}{}
		}
	}
	before := sp.Borrows
	sp.Borrows = next
	for _, lender := range next {
		l := s.st.catalog.SpaceOf(lender)
		l.LentTo[sp] = struct{}{}
		touched[l] = struct{}{}
	}
	for l := range touched {
		s.spaces[l] = struct{}{}
		s.st.catalog.TidySpace(l)
	}
	s.reattribute(sp, func(k *catalog.Kind) bool { return before[k.Group] != next[k.Group] })
}

// settleDefinitions has the definitions that serve a space follow where it is.
func (s *step) settleDefinitions(sp *catalog.Space) {
	for o := range sp.CRDs {
		s.settle(o, false)
	}
	for _, lender := range sp.Borrows {
		if l := s.st.catalog.Spaces[lender]; l != nil {
			for o := range l.CRDs {
				s.settle(o, false)
			}
		}
	}
}
