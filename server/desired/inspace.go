package desired

import (
	"strings"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// stay takes over what a definition says. Who decides about its custom resources changes with it.
func (s *step) stay(definition *catalog.Object, stays bool) {
	if definition.Stays == stays {
		return
	}
	definition.Stays = stays
	resource, group, _ := strings.Cut(definition.Name, ".")
	defines := func(k *catalog.Kind) bool { return k.Group == group && k.Resource == resource }
	lender := definition.Namespace.Space
	s.reattribute(lender, defines)
	for borrower := range lender.LentTo {
		s.reattribute(borrower, defines)
	}
}

// reattribute finds out again who decides about the objects of some kinds in a space. A snapshot does
// that at its end.
func (s *step) reattribute(sp *catalog.Space, of func(*catalog.Kind) bool) {
	if s.bulk {
		return
	}
	sp.EachObject(func(o *catalog.Object) {
		if !o.Present || !of(o.Kind) {
			return
		}
		left := o.Source
		if s.moved(o); left != nil && left != o.Source {
			s.st.catalog.Enqueue(left) // what held its group back may have left it
		}
		if o.Source != nil && o.Source != left {
			s.st.catalog.Enqueue(o.Source)
		}
	})
}

// saysOfConditions takes over what a definition says of the conditions of its objects. A text that nobody
// understands says nothing: admission has warned of it.
func (st *State) saysOfConditions(definition *catalog.Object, text string) {
	if definition.Kind.Order != store.ClassCRD {
		return
	}
	sp := definition.Namespace.Space
	good, err := placement.ParseGoodConditions(text)
	if err != nil || len(good) == 0 {
		delete(sp.Conditions, definition.Name)
		return
	}
	if sp.Conditions == nil {
		sp.Conditions = map[string]placement.GoodConditions{}
	}
	sp.Conditions[definition.Name] = good
}
