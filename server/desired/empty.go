package desired

import (
	"slices"

	"skerry.dev/skerry/store"
)

// empty takes everything off the targets whose SyncTargets are being deleted with the policy Clean,
// once no group is there any more: groups leave by an ordinary move, and at once where nothing else
// fits. Whatever they decide then, nothing comes back.
func (s *step) empty() {
	for name, t := range s.st.catalog.Removing {
		switch {
		case s.st.catalog.Targets[name] != t || !t.Removing:
			delete(s.st.catalog.Removing, name)
		case s.st.catalog.UnitsOn(name) == 0:
			delete(s.st.catalog.Removing, name)
			t.Emptied = true
			for _, e := range t.Feed.All() {
				s.changes[name] = append(s.changes[name], store.Change{Key: e.Key, Intended: true})
			}
		}
	}
}

// onlyTombstones drops what would be placed on a target that is being emptied.
func onlyTombstones(changes []store.Change) []store.Change {
	return slices.DeleteFunc(changes, func(c store.Change) bool { return c.Hash != store.Hash{} })
}
