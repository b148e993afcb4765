package catalog

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/placement"
)

// An import is a Service that stands for what other spaces export (package clusterset). The spaces of its set, its
// members, have one of the same name in the same Namespace, and all lead to the same. A site has one Namespace of a
// name, so it has the import of one member at most, and that answers Pods of each.

// Imports are the imports by the name of their Namespace, with the names of their members.
type Imports map[string]map[*Object][]string

// Read takes over the members that a Service says it has, none for one that is no import. It reports whether they are
// others than before. The lock must be held.
func (i Imports) Read(o *Object, members []string) bool {
	name := o.Namespace.Name
	if slices.Equal(i[name][o], members) {
		return false
	}
	if len(members) == 0 {
		if delete(i[name], o); len(i[name]) == 0 {
			delete(i, name)
		}
		return true
	}
	if i[name] == nil {
		i[name] = map[*Object][]string{}
	}
	i[name][o] = members
	return true
}

// Of are the imports that have a space as a member. The lock must be held.
func (i Imports) Of(member *Space) (all []*Object) {
	for _, some := range i {
		for o, members := range some {
			if slices.Contains(members, member.Name) {
				all = append(all, o)
			}
		}
	}
	return all
}

// members are the members of an import and their UIDs as its targets get them: "desk=UID,shop=UID". The lock must be
// held.
func members(c *Catalog, o *Object) string {
	var all []string
	for _, name := range c.Imports[o.Namespace.Name][o] {
		if sp := c.Spaces[name]; sp != nil && sp.UID != "" {
			all = append(all, name+"="+sp.UID)
		}
	}
	return strings.Join(all, ",")
}

// yields reports whether the Namespace of an import is another member's at a target: of one that has it there, else of
// the first by name of those whose imports go there. The lock must be held.
func yields(c *Catalog, o *Object, target string) bool {
	members := c.Imports[o.Namespace.Name][o]
	if len(members) == 0 || usedAt(c, o.Namespace, target) {
		return false
	}
	first := true
	for _, name := range members {
		n := namesake(c, o.Namespace, name)
		switch {
		case n == nil:
		case usedAt(c, n, target):
			return true
		case name < o.Namespace.Space.Name && imports(c, n) && c.everywhere(nil, n.Space.Runs).Has(target):
			first = false
		}
	}
	return !first
}

// usedAt reports whether a Namespace is at a target for more than imports.
func usedAt(c *Catalog, n *Namespace, target string) bool {
	if c.Sets.Union(n.Group.Record, c.KeptFor(n)).Has(target) {
		return true
	}
	objects := 0
	for set, some := range n.Here {
		if set.Has(target) {
			objects += some
		}
	}
	for o := range c.Imports[n.Name] {
		if o.Namespace == n && o.HasAt(target) {
			objects--
		}
	}
	return objects > 0
}

// namesake is the Namespace of another space that has the same name at sites, nil where there is none.
func namesake(c *Catalog, n *Namespace, space string) *Namespace {
	sp := c.Spaces[space]
	if sp == nil || sp == n.Space || sp.Prefix != n.Space.Prefix {
		return nil
	}
	return sp.Namespaces[n.Name]
}

// imports reports whether a Namespace has any import.
func imports(c *Catalog, n *Namespace) bool {
	for o := range c.Imports[n.Name] {
		if o.Namespace == n {
			return true
		}
	}
	return false
}

// Members reads the members of an import, as the center of its space says them, or a parent.
func Members(text string) []string {
	if text == "" {
		return nil // nearly all objects
	}
	all := map[string]bool{}
	for _, member := range placement.Split(text) {
		name, _, _ := strings.Cut(member, "=")
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
