package catalog

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// Loses returns the first object in order that a Placement selects and another one has, and that one.
func (b *Rulebook) Loses() (object string, winner *Rulebook) {
	for o := range b.Lost {
		if o.Source == nil || o.Source.Kind != OfPlacement {
			continue
		}
		if name := o.title(); winner == nil || name < object {
			object, winner = name, o.Source.Book
		}
	}
	return object, winner
}

// Wins returns the first Placement in order that selects an object of another one, and the first such
// object.
func (sp *Space) Wins(b *Rulebook) (object string, loser *Rulebook) {
	for o, losers := range sp.Overlaps {
		if o.Source != &b.Group {
			continue
		}
		name := o.title()
		for _, l := range losers {
			if loser == nil || l.Name < loser.Name || l == loser && name < object {
				object, loser = name, l
			}
		}
	}
	return object, loser
}

// A Placement of root is carried out by the Placements that the center keeps for it in the spaces
// that it selects (package policies): their status has the decisions, as that of any Placement. Of
// the one in root the catalog knows only what must not be missed: while a space lacks a Placement
// of precedence Override, nothing is decided there.

// policies are the Placements of root, by name.
type policies map[string]*Policy

// Policy is a Placement of root as it is carried out in a space.
type Policy struct {
	UID       string
	Overrides bool
	Selects   func(labels map[string]string) bool
	Epoch     uint32
}

// Sweep removes what a snapshot did not mention.
func (p policies) Sweep(epoch uint32) {
	for name, one := range p {
		if one.Epoch != epoch {
			delete(p, name)
		}
	}
}

// AwaitsPolicy reports whether a space lacks a Placement of root that counts before all else. The
// lock must be held.
func (c *Catalog) AwaitsPolicy(sp *Space) bool {
	for name, p := range c.Policies {
		if !p.Overrides || !sp.Known || !p.Selects(sp.Labels) {
			continue
		}
		if b := sp.Placements[v1alpha1.PolicyPrefix+name]; b == nil || b.PolicyOf != p.UID {
			return true
		}
	}
	return false
}

// Ruling returns the group of the Placement that decides about an object, nil where the object's
// label or its namespace does, and the Placements of the same priority that select it, too.
func (sp *Space) Ruling(s placement.Subject, labelled bool) (*Group, []*Rulebook) {
	if len(sp.Rules) == 0 {
		return nil, nil
	}
	namespaceLabelled := s.NamespaceLabels != nil &&
		s.NamespaceLabels.Get(v1alpha1.LabelTarget) != ""
	r, lost := placement.Decides(sp.Rules, s, labelled, namespaceLabelled)
	if r == nil {
		return nil, nil
	}
	var losers []*Rulebook
	for _, l := range lost {
		losers = append(losers, sp.Placements[l.Name])
	}
	return &sp.Placements[r.Name].Group, losers
}

// Overruled is the reason of an Event on an object whose own label has no effect.
const Overruled = "Overruled"
