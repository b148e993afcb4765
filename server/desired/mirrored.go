package desired

import (
	"cmp"
	"slices"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
)

// Unmirrored returns the objects of a namespace, or of a whole space where that is empty, whose Pods
// the space does not show because they are on too many targets, by namespace and name. It costs
// nothing in a space that has none.
func Unmirrored(st *State, space, namespace string) (out []placement.Located) {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	sp := st.catalog.Spaces[space]
	if sp == nil || !wide(sp.Runs) {
		return nil
	}
	for name, n := range sp.Namespaces {
		if namespace != "" && namespace != name || !wide(n.Here) {
			continue
		}
		for _, o := range n.Objects {
			if o.On.Len() > placement.MostMirrored && o.Present && placement.RunsPods(o.Key()) {
				if at, on := st.located(o); on {
					out = append(out, at)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b placement.Located) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name),
			cmp.Compare(a.Key.Resource, b.Key.Resource))
	})
	return out
}

// wide reports whether one of some sets has more targets than are mirrored.
func wide(here map[*catalog.Set]int) bool {
	for on := range here {
		if on.Len() > placement.MostMirrored {
			return true
		}
	}
	return false
}
