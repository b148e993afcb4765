package desired

import (
	"skerry.dev/skerry/server/catalog"
)

// redivideAll brings the options of all Placements up to date with where their objects are.
func (s *step) redivideAll() {
	for _, sp := range s.st.catalog.Spaces {
		for _, b := range sp.Placements {
			s.redivided(b)
		}
	}
}

// redivided brings the options of a Placement up to date with where its objects are, and reports
// whether the shares are others. The lock must be held.
func (s *step) redivided(b *catalog.Rulebook) bool {
	if b.Options == nil {
		return false
	}
	before := b.Options
	b.SetOptions(before.Policy, before.Sync, s.st.catalog.Division(b))
	return b.Options != before
}

// reweigh brings the shares of what is on a target up to date with what the target is.
func (s *step) reweigh(target string) {
	for b := range s.st.catalog.Divided {
		if !b.Group.Record.Has(target) || !s.redivided(b) || s.bulk {
			continue
		}
		b.Group.Members(func(o *catalog.Object) bool {
			s.st.catalog.RerenderIfStale(o)
			return true
		})
	}
}
