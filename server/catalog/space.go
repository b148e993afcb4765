package catalog

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// Namespace indexes the objects of one namespace; a space's cluster-scoped objects are in one
// without a name.
type Namespace struct {
	Space   *Space
	Name    string
	Labels  LabelText
	Self    *Object // the Namespace object itself
	Group   Group
	Objects map[objectID]*Object
	Here    map[*Set]int // objects per set of targets
	State   Conditions
	PodAPI  placement.PodAPI // what the Namespace says
	Reach   placement.Reach  // what it says of the Services in it
	Volumes v1alpha1.VolumePolicy
	// Replication is what it says of the standby of its volumes, nil for nothing.
	Replication *v1alpha1.VolumeReplication
	Kept        *Set                 // targets where something of it stays that is no longer placed there
	Rights      map[*Object]struct{} // its Roles and bindings; nil while it has none
	LivesOn     livesOn
	followers   followers
}

// Space is one logical cluster.
type Space struct {
	Name        string
	UID         string // of the Space object
	Prefix      string // of its namespaces at sites
	Known       bool   // a Space object exists
	Labels      map[string]string
	Offered     labels.Selector
	Fallback    placement.Wish // where namespaces go that nothing names
	Namespaces  map[string]*Namespace
	Cluster     *Namespace
	Rules       []*placement.Rule
	Placements  map[string]*Rulebook
	Overlaps    map[*Object][]*Rulebook // the Placements that select an object and do not have it, see contend
	CRDs        map[*Object]struct{}
	Conditions  map[string]placement.GoodConditions // by name of the definition that says so
	Customizers map[*Object]struct{}
	Upsyncs     map[*Object]bool    // with whether the parent of this center has sent it
	Borrows     map[string]string   // group -> the space whose definitions of it serve this one
	LentTo      map[*Space]struct{} // the spaces that borrow of this one
	Here        map[*Set]int
	Uses        map[*Set]int      // of here what has the definitions of the space follow it
	Runs        map[*Set]int      // objects that run pods, per set of targets
	Reach       placement.Reach   // what it says of its Services
	Reaching    map[*Object]*Name // Services that reach all of the space
	KeepEntry   time.Duration     // how long a door stays open, see door
	Kept        *Set              // as of a namespace
	Rights      Rights
}

// SpaceOf returns the space of a name, and begins one where there is none. The lock must be held.
func (c *Catalog) SpaceOf(name string) *Space {
	s, ok := c.Spaces[name]
	if !ok {
		s = &Space{
			Name:        name,
			Namespaces:  map[string]*Namespace{},
			Placements:  map[string]*Rulebook{},
			Overlaps:    map[*Object][]*Rulebook{},
			CRDs:        map[*Object]struct{}{},
			Customizers: map[*Object]struct{}{},
			Upsyncs:     map[*Object]bool{},
			LentTo:      map[*Space]struct{}{},
			Here:        map[*Set]int{},
			Uses:        map[*Set]int{},
			Runs:        map[*Set]int{},
			Reaching:    map[*Object]*Name{},
		}
		s.Cluster = &Namespace{Space: s, Objects: map[objectID]*Object{}, Here: map[*Set]int{}}
		c.Spaces[name] = s
	}
	return s
}

// NamespaceOf returns a namespace of a space, and begins one where there is none. An empty name is the
// space's cluster. The lock must be held.
func (c *Catalog) NamespaceOf(s *Space, name string) *Namespace {
	if name == "" {
		return s.Cluster
	}
	n, ok := s.Namespaces[name]
	if !ok {
		n = &Namespace{Space: s, Name: name, Objects: map[objectID]*Object{}, Here: map[*Set]int{}}
		n.Group = Group{Kind: OfNamespace, Space: s, Namespace: n}
		s.Namespaces[name] = n
	}
	return n
}

// Forget drops an object that does not exist and that nothing names.
func (c *Catalog) Forget(o *Object) {
	if !o.Present && o.Work == nil && o.Ties == nil {
		delete(o.Namespace.Objects, objectID{o.Kind, o.Name})
	}
}

// Tidy forgets a namespace that has nothing left.
func (c *Catalog) Tidy(n *Namespace) {
	if n.Name != "" && n.Self == nil && len(n.Objects) == 0 {
		delete(n.Space.Namespaces, n.Name)
	}
	c.TidySpace(n.Space)
}

// TidySpace forgets a space that is gone and has nothing left.
func (c *Catalog) TidySpace(sp *Space) {
	if !sp.Known && len(sp.Namespaces) == 0 && len(sp.Cluster.Objects) == 0 && len(sp.Placements) == 0 &&
		len(sp.LentTo) == 0 {
		delete(c.Spaces, sp.Name)
	}
}

// EachObject visits all objects. The lock must be held.
func (c *Catalog) EachObject(visit func(*Object)) {
	for _, s := range c.Spaces {
		s.EachObject(visit)
	}
}

// EachObject visits all objects of a space. The lock must be held.
func (s *Space) EachObject(visit func(*Object)) {
	for _, o := range s.Cluster.Objects {
		visit(o)
	}
	for _, n := range s.Namespaces {
		for _, o := range n.Objects {
			visit(o)
		}
	}
}
