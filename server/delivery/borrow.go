package delivery

import (
	"maps"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// borrow takes over whose definitions serve a space. They have to be where anything of the space
// is, besides where they are already.
func (s *step) borrow(sp *space, apis []v1alpha1.SharedAPI) {
	next := map[string]string{}
	for _, a := range apis {
		next[a.Group] = a.FromSpace
	}
	if maps.Equal(next, sp.borrows) {
		return
	}
	touched := map[*space]struct{}{}
	for _, lender := range sp.borrows {
		if l := s.d.spaces[lender]; l != nil {
			delete(l.lentTo, sp)
			touched[l] = struct{}{}
		}
	}
	sp.borrows = next
	for _, lender := range next {
		l := s.d.spaceOf(lender)
		l.lentTo[sp] = struct{}{}
		touched[l] = struct{}{}
	}
	for l := range touched {
		s.spaces[l] = struct{}{}
		s.d.tidySpace(l)
	}
}

// settleDefinitions has the definitions that serve a space follow where it is.
func (s *step) settleDefinitions(sp *space) {
	for o := range sp.crds {
		s.settle(o, false)
	}
	for _, lender := range sp.borrows {
		if l := s.d.spaces[lender]; l != nil {
			for o := range l.crds {
				s.settle(o, false)
			}
		}
	}
}

// defines is where a CustomResourceDefinition is: where anything of its space is, or of a space
// that borrows its group.
func (d *Delivery) defines(o *object) *set {
	on := d.everywhere(nil, o.ns.space.here)
	_, group, _ := strings.Cut(o.name, ".")
	for borrower := range o.ns.space.lentTo {
		if borrower.borrows[group] == o.ns.space.name {
			on = d.everywhere(on, borrower.here)
		}
	}
	return on
}
