package catalog

import (
	"maps"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// An import is a Service that stands for what other spaces export (package clusterset). The spaces of its set, its
// members, have one of the same name in the same Namespace, and all lead to the same. A site has one Namespace of a
// name, so it has the import of one member at most, and that answers Pods of each.

// Imports are the imports by the name of their Namespace.
type Imports map[string]map[*Object]Import

// Import is what a Service says of itself as an import: the names of its members, and of the spaces among them that
// export Service. The zero value is none.
type Import struct {
	Members, Exporters []string
	Service            string
}

// Read takes over what a Service says. It reports whether its members are others than before. The lock must be held.
func (i Imports) Read(o *Object, is Import) bool {
	name := o.Namespace.Name
	was := i[name][o]
	if len(is.Members) == 0 {
		if delete(i[name], o); len(i[name]) == 0 {
			delete(i, name)
		}
		return len(was.Members) > 0
	}
	if i[name] == nil {
		i[name] = map[*Object]Import{}
	}
	i[name][o] = is
	return !slices.Equal(was.Members, is.Members)
}

// Exported are the Services at this relay that answer for one that its parent has sent, as the parent says, and their
// name. It is false for every other one. The lock must be held.
func Exported(c *Catalog, o *Object) (service string, all []*Object, is bool) {
	of := c.Imports[o.Namespace.Name][o]
	if o.Above() == "" || of.Service == "" || len(of.Exporters) == 0 {
		return "", nil, false
	}
	for _, space := range of.Exporters {
		k := store.Key{Space: space, Resource: o.Kind.Resource, Namespace: o.Namespace.Name, Name: of.Service}
		if e := c.Find(k); e != nil && e.Present && e.Above() != "" {
			all = append(all, e)
		}
	}
	return of.Service, all, true
}

// Of are the imports that have a space as a member. The lock must be held.
func (i Imports) Of(member *Space) (all []*Object) {
	for _, some := range i {
		for o, is := range some {
			if slices.Contains(is.Members, member.Name) {
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
	for _, name := range c.Imports[o.Namespace.Name][o].Members {
		if sp := c.Spaces[name]; sp != nil && sp.UID != "" {
			all = append(all, name+"="+sp.UID)
		}
	}
	return strings.Join(all, ",")
}

// yields reports whether the Namespace of an import is another member's at a target: of one that has it there, else of
// the first by name of those whose imports go there. The lock must be held.
func yields(c *Catalog, o *Object, target string) bool {
	members := c.Imports[o.Namespace.Name][o].Members
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

// ImportOf reads what a Service says of itself as an import, in the words of the center of its space, or of a parent.
func ImportOf(meta map[string]any) Import {
	notes := fields.Map(meta, "annotations")
	is := Import{Members: spacesIn(notes, v1alpha1.AnnotationMembers),
		Exporters: spacesIn(notes, v1alpha1.AnnotationExporters)}
	if of := fields.String(meta, "labels", v1alpha1.LabelImported); len(is.Exporters) > 0 &&
		v1alpha1.ServiceOfImport(of) == fields.String(meta, "name") { // anybody may write a label
		is.Service = strings.Clone(of)
	}
	return is
}

// spacesIn reads names of spaces, each maybe with its UID.
func spacesIn(notes map[string]any, annotation string) []string {
	text := fields.Clone(notes, annotation)
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
