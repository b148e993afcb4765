package desired

import (
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
)

// standby looks again at a unit whose standby says something else or is gone, or for which nothing is kept any more.
// The lock must be held.
func standby(s *step, is *catalog.Mover, n *catalog.Namespace) {
	if s.bulk || is == nil || !is.Side.Replicates() {
		return
	}
	if r, ok := s.st.catalog.OwnerOf(n.Space.Name, binding.Ref{Unit: is.Unit}); ok {
		if g := s.st.catalog.Group(r); g != nil {
			s.st.catalog.Enqueue(g)
		}
	}
}
