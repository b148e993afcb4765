package placement

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Neighbour is another Placement of the space, and where its objects are.
type Neighbour struct {
	Name    string
	Labels  labels.Set
	Targets []string
	// Avoids are its terms of antiAffinity: it is not to be joined by what they match.
	Avoids []Affinity
}

// Affinity is a term of affinity or antiAffinity, compiled.
type Affinity struct {
	names    []string
	selector labels.Selector
	by       string
}

// matches reports whether the term means a Placement.
func (a *Affinity) matches(n *Neighbour) bool {
	if a.selector != nil {
		return a.selector.Matches(n.Labels)
	}
	return slices.Contains(a.names, n.Name)
}

// String names what the term means.
func (a *Affinity) String() string {
	if a.selector != nil {
		return "the Placements with " + a.selector.String()
	}
	return "Placement " + strings.Join(a.names, ", ")
}

// domain is what targets near to one another have in common: the value of the label, or the name.
func (a *Affinity) domain(t *Target) (string, bool) {
	if a.by == "" {
		return t.Name, true
	}
	v, ok := t.Labels[a.by]
	return v, ok
}

// vicinity is where the Placements of a term are.
type vicinity struct {
	term    *Affinity
	domains map[string]bool
	who     string // for messages
}

// near reports whether a target is one of them, or near to one.
func (v *vicinity) near(t *Target) bool {
	d, ok := v.term.domain(t)
	return ok && v.domains[d]
}

// surroundings are the vicinities that matter for one decision.
type surroundings struct{ with, apart []vicinity }

func (w *Wish) surroundings(world *World) (s surroundings) {
	c := w.Constraints
	if c != nil {
		for i := range c.affinity {
			s.with = append(s.with, world.vicinity(&c.affinity[i]))
		}
		for i := range c.antiAffinity {
			s.apart = append(s.apart, world.vicinity(&c.antiAffinity[i]))
		}
	}
	if world.Self.Name == "" {
		return s
	}
	for i := range world.Neighbours {
		n := &world.Neighbours[i]
		for j := range n.Avoids {
			if n.Name != world.Self.Name && n.Avoids[j].matches(&world.Self) {
				v := vicinity{term: &n.Avoids[j], domains: map[string]bool{}, who: "Placement " + n.Name + ", which keeps away"}
				world.mark(&v, n)
				s.apart = append(s.apart, v)
			}
		}
	}
	return s
}

func (w *World) vicinity(term *Affinity) vicinity {
	v := vicinity{term: term, domains: map[string]bool{}, who: term.String()}
	met := false
	for i := range w.Neighbours {
		if n := &w.Neighbours[i]; n.Name != w.Self.Name && term.matches(n) {
			w.mark(&v, n)
			met = true
		}
	}
	switch {
	case !met:
		v.who += ", which the space does not have"
	case len(v.domains) == 0:
		v.who += ", which are nowhere"
	}
	return v
}

func (w *World) mark(v *vicinity, n *Neighbour) {
	for _, name := range n.Targets {
		if t, exists := w.target(name); exists {
			if d, ok := v.term.domain(&t); ok {
				v.domains[d] = true
			}
		}
	}
}
