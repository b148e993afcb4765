package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel"
)

// served is what the targets' clusters serve. Most serve the same, so that equal lists are one.
type served struct {
	lists map[string]*placement.APIs
	// scarce are the built-in kinds that some target does not serve; nil when it is to be found out.
	Scarce map[*Kind]placement.API
	kinds  int // of which scarce was found out
}

// maxLists is how many different lists are kept; more than that are not shared.
const maxLists = 1024

// of interns what a status says.
func (s *served) of(status map[string]any) *placement.APIs {
	said := fields.Map(status, "apis")
	if said == nil {
		return nil
	}
	list := v1alpha1.ServedAPIs{
		Versions: texts(said, "versions"), Resources: texts(said, "resources"), Incomplete: said["incomplete"] == true,
	}
	key := strings.Join(list.Versions, ",") + " " + strings.Join(list.Resources, ",")
	if list.Incomplete {
		key += " ..."
	}
	if known, ok := s.lists[key]; ok {
		return known
	}
	if len(s.lists) >= maxLists || s.lists == nil {
		s.lists = map[string]*placement.APIs{}
	}
	s.Scarce = nil
	s.lists[key] = placement.NewAPIs(&list)
	return s.lists[key]
}

func texts(of map[string]any, field string) (out []string) {
	for _, v := range fields.List(of, field) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// scarceKinds returns the built-in kinds that some target does not serve. Definitions of other kinds
// go where their objects go. The lock must be held.
func (c *Catalog) scarceKinds() map[*Kind]placement.API {
	s := &c.Served
	if s.Scarce != nil && s.kinds == len(c.Kinds) {
		return s.Scarce
	}
	s.Scarce, s.kinds = map[*Kind]placement.API{}, len(c.Kinds)
	for _, k := range c.Kinds {
		if k.Class != placement.Placed || !tunnel.BuiltInGroup(k.Group) || k.ApiVersion == "" {
			continue
		}
		a := k.api()
		for _, list := range s.lists {
			if !list.Serves(a) {
				s.Scarce[k] = a
				break
			}
		}
	}
	return s.Scarce
}

func (k *Kind) api() placement.API {
	version := k.ApiVersion[strings.IndexByte(k.ApiVersion, '/')+1:]
	return placement.API{Group: k.Group, Version: version, Resource: k.Resource}
}

// needs returns what a target must serve to have the objects of a group. The lock must be held for
// writing.
func (c *Catalog) needs(g *Group) (out []placement.API) {
	scarce := c.scarceKinds()
	if len(scarce) == 0 {
		return nil
	}
	found := map[*Kind]bool{}
	g.Members(func(o *Object) bool {
		if a, ok := scarce[o.Kind]; ok && !found[o.Kind] {
			found[o.Kind] = true
			out = append(out, a)
		}
		return len(found) < len(scarce)
	})
	slices.SortFunc(out, func(a, b placement.API) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// WorldOf is what a group may choose from. The lock must be held for writing.
func (c *Catalog) WorldOf(g *Group) placement.World {
	w := c.World(g.Space)
	w.Needs = c.needs(g)
	c.relate(&w, g)
	if levelsDiffer(c, g.Space.Name) {
		Refusals(c, &w, g)
	}
	return w
}

// relate fills in where the other Placements of a space are, if that matters to any of them.
func (c *Catalog) relate(w *placement.World, g *Group) {
	if g.Kind != OfPlacement || !g.Space.Related() {
		return
	}
	w.Self = g.Book.neighbour()
	for _, b := range g.Space.Placements {
		if b != g.Book {
			w.Neighbours = append(w.Neighbours, b.neighbour())
		}
	}
	slices.SortFunc(w.Neighbours, func(a, b placement.Neighbour) int { return strings.Compare(a.Name, b.Name) })
}

// Related reports whether a Placement of the space depends on where others are.
func (sp *Space) Related() bool {
	for _, r := range sp.Rules {
		if r.Wish.Constraints.Related() {
			return true
		}
	}
	return false
}

func (b *Rulebook) neighbour() placement.Neighbour {
	n := placement.Neighbour{Name: b.Name, Labels: b.Labels, Targets: b.Group.Record.List()}
	if b.Rule != nil {
		n.Avoids = b.Rule.Wish.Constraints.Avoids()
	}
	return n
}

// ReadFacts reads what a SyncTarget says of its cluster, nil while it has said nothing. What the
// cluster has is read already.
func (c *Catalog) ReadFacts(obj map[string]any, has capacity) *placement.Facts {
	status := fields.Map(obj, "status")
	f := &placement.Facts{KubernetesVersion: fields.Clone(status, "kubernetesVersion"), APIs: c.Served.of(status)}
	for name := range fields.Map(status, "properties") {
		if f.Properties == nil {
			f.Properties = map[string]string{}
		}
		f.Properties[name] = fields.Clone(status, "properties", name)
	}
	f.Capacity, f.Allocatable, f.Allocated = has.Capacity, has.Allocatable, has.Allocated
	if f.KubernetesVersion == "" && f.APIs == nil && f.Properties == nil && f.Allocatable == nil {
		return nil
	}
	return f
}

// WakeAffected looks again at the groups for which a change of a target matters, and at the moves
// that were given up. The lock must be held for writing.
func (c *Catalog) WakeAffected(before, now placement.Target) {
	c.Reconsider()
	var all []placement.Target
	for _, sp := range c.Spaces {
		if !sp.Known {
			continue
		}
		w := placement.World{Offered: sp.Offered, Now: time.Now(), Targets: all}
		if all == nil {
			w = c.World(sp)
			all = w.Targets
		}
		w.Locations = c.places()
		if len(c.scarceKinds()) > 0 || offers(sp, before) != offers(sp, now) {
			c.WakeSpace(sp) // whether a target serves what the objects need is a matter of each group
			continue
		}
		matters := map[string]bool{}
		affected := func(g *Group) bool {
			wish := g.Wish()
			if g.Kind == OfPlacement {
				one := w
				c.relate(&one, g)
				return wish.Affects(one, before, now)
			}
			key := wish.String()
			known, ok := matters[key]
			if !ok {
				known = wish.Affects(w, before, now)
				matters[key] = known
			}
			return known
		}
		c.wakeGroups(sp, affected)
	}
}

func offers(sp *Space, t placement.Target) bool {
	return sp.Offered == nil || sp.Offered.Matches(t.Labels)
}

// LeavesText begins what is said of targets that a group leaves.
const LeavesText = "leaves "

// VerdictsText says for people what holds of targets and why, of three by name.
func VerdictsText(verb string, list []placement.Verdict) string {
	const most = 3
	var parts []string
	for i, v := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		parts = append(parts, verb+v.Target+": "+v.Message)
	}
	return strings.Join(parts, "; ")
}
