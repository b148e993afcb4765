package catalog

import "skerry.dev/skerry/server/placement"

// Uncommon are the claims, and the StatefulSets with templates of some, whose volumes are not copied as others are.
type Uncommon map[*Object]placement.Uncommon

// Read takes over what an object is. The lock must be held.
func (u Uncommon) Read(o *Object, is placement.Uncommon) {
	if is == (placement.Uncommon{}) {
		delete(u, o)
	} else {
		u[o] = is
	}
}
