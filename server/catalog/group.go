package catalog

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

type groupKind uint8

const (
	OfNamespace groupKind = iota // what nothing else names in a namespace
	OfPlacement                  // what a Placement selects
	OfObject                     // one object with a wish of its own, or one that is cluster-scoped
	OfCohort                     // not a group: objects that pass from one unit to another
	OfPass                       // not a group: an object that may have to pass
	OfTarget                     // not a group: a target that has been away for too long
)

// Group is everything that one wish decides about, with what its Binding says.
type Group struct {
	Kind      groupKind
	Space     *Space
	Namespace *Namespace
	Book      *Rulebook
	Object    *Object
	Record    *Set
	// asked is since when it is known that the group has to be decided about for the first time.
	Asked time.Time
	// evict are targets that the group was asked to leave.
	Evict []string
	// moving is set while the group is not known to be where it should be: reports of members then
	// wake the decision writer. GaveUp: targets were given up. rests: a look at it changed nothing, and
	// nothing has woken it since.
	Moving, GaveUp, Rests bool
	// founding: nothing is with it, and it is decided about for something that passes to it.
	Founding bool
	// began is when objects that must not be in two places began in it last.
	Began time.Time
	// wakes counts how often it was woken.
	Wakes uint64
	// told is the last Event, so that it is not repeated; said are the conditions that were not as
	// they should be.
	Told string
	Said map[string]bool
}

// ID is the unit of a group: the UID of its holder, empty while that is not there.
func (g *Group) ID() binding.UnitID {
	switch g.Kind {
	case OfNamespace:
		if g.Namespace.Self == nil {
			return ""
		}
		return binding.UnitID(g.Namespace.Self.UID)
	case OfPlacement:
		return binding.UnitID(g.Book.UID)
	default:
		return binding.UnitID(g.Object.UID)
	}
}

// Rule is the Placement of a group as it was last understood, nil where it has none.
func (g *Group) Rule() *placement.Rule {
	if g == nil || g.Kind != OfPlacement {
		return nil
	}
	return g.Book.Rule
}

// Patience is how long a half of the group's moves may take.
func (g *Group) Patience() time.Duration {
	if r := g.Rule(); r != nil {
		return r.ReadyTimeout
	}
	return placement.ReadyTimeout
}

// returns reports whether the group goes back to a better target by itself.
func (g *Group) returns() bool {
	r := g.Rule()
	return r != nil && r.Wish.Failback > 0
}

// BreaksFirst reports whether the group must not be in two places.
func (g *Group) BreaksFirst() bool {
	r := g.Rule()
	return r != nil && r.BreakFirst
}

// Ref names a group in the queue; it holds no pointer, since groups come and go.
type Ref struct {
	Kind groupKind
	Key  store.Key
}

// Ref names the group in the queue.
func (g *Group) Ref() Ref {
	switch g.Kind {
	case OfNamespace:
		return Ref{Kind: OfNamespace, Key: NamespaceKey(g.Space.Name, g.Namespace.Name)}
	case OfPlacement:
		return Ref{Kind: OfPlacement, Key: PlacementKey(g.Space.Name, g.Book.Name)}
	default:
		return Ref{Kind: OfObject, Key: g.Object.Key()}
	}
}

// NamespaceKey is where a Namespace is stored.
func NamespaceKey(space, name string) store.Key {
	return store.Key{Space: space, Resource: "namespaces", Name: name}
}

// PlacementKey is where a Placement is stored.
func PlacementKey(space, name string) store.Key {
	return store.Key{Space: space, Group: v1alpha1.GroupVersion.Group, Resource: "placements", Name: name}
}

// Group finds what a ref names, nil when it is gone. The lock must be held.
func (c *Catalog) Group(r Ref) *Group {
	s := c.Spaces[r.Key.Space]
	if s == nil {
		return nil
	}
	switch r.Kind {
	case OfNamespace:
		if n := s.Namespaces[r.Key.Name]; n != nil && n.Self != nil {
			return &n.Group
		}
	case OfPlacement:
		if b := s.Placements[r.Key.Name]; b != nil {
			return &b.Group
		}
	case OfObject:
		if o := c.Find(r.Key); o != nil && o.Source != nil && o.Source.Kind == OfObject {
			return o.Source
		}
	}
	return nil
}

// NoneWished says for people by what a group is wished to be nowhere.
func (r Ref) NoneWished() string {
	if r.Kind == OfPlacement {
		return "spec.targets.count is 0: the objects are on no target"
	}
	return "the label " + v1alpha1.LabelTarget + " is " + v1alpha1.TargetNone + ": the objects are on no target"
}

// Wish tells where the group should be.
func (g *Group) Wish() placement.Wish {
	label := ""
	switch g.Kind {
	case OfPlacement:
		if g.Book.Rule == nil {
			return placement.Wish{}
		}
		return g.Book.Rule.Wish
	case OfNamespace:
		label = g.Namespace.Labels.Get(v1alpha1.LabelTarget)
	case OfObject:
		if h := g.Object.Hook; h != nil {
			return placement.Wish{Names: []string{h.target}, Count: 1} // see chooseHook
		}
		label = g.Object.Wish()
	}
	switch label {
	case "":
		return g.Space.Fallback
	case v1alpha1.TargetNone:
		return placement.Wish{None: true}
	}
	return placement.Wish{Names: []string{label}, Count: max(1, g.Space.Fallback.Count)}
}

// SourceOf tells which group decides about an object: a Placement, its own label or its namespace,
// in the order of placement.Decides. Kinds that only follow others have none.
// It also returns the Placements that select the object and lose it to another one of their priority.
func (c *Catalog) SourceOf(o *Object) (*Group, []*Rulebook) {
	if o.Kind.Class != placement.Placed || c.StaysInSpace(o.Namespace.Space, o.Kind.Group, o.Kind.Resource) {
		return nil, nil
	}
	own := func() *Group {
		if o.Source != nil && o.Source.Kind == OfObject {
			return o.Source
		}
		g := &Group{Kind: OfObject, Space: o.Namespace.Space, Object: o}
		c.Known(g)
		return g
	}
	if o.Hook != nil || o.Mover() != nil {
		return own(), nil
	}
	labelled := o.Wish() != ""
	if g, losers := o.Namespace.Space.Ruling(o.Subject(), labelled); g != nil {
		return g, losers
	}
	if labelled || o.Namespace.Name == "" {
		return own(), nil
	}
	return &o.Namespace.Group, nil
}

// Space is the space of a group.
func (r Ref) Space() string { return r.Key.Space }

// String names the group for logs.
func (r Ref) String() string { return r.Key.String() }

// servedReady is the MinReady of what Services are with: a cluster takes a second or two until each of
// its nodes routes to a Pod that is ready, and until then who asks the new place gets no answer.
const servedReady = 5 * time.Second

// MinReady is for how long a target must have been ready before the one that it replaces is left. A
// Service may be with what moves.
func (g *Group) MinReady(service bool) time.Duration {
	if r := g.Rule(); r != nil && r.MinReady != nil {
		return *r.MinReady
	}
	if service {
		return min(servedReady, g.Patience()/2)
	}
	return 0
}

// Policy is what decides about a group, and about an object of it.
func (g *Group) Policy(o *Object) v1alpha1.ReviewedPolicy {
	p := v1alpha1.ReviewedPolicy{Kind: "DefaultTargets"}
	switch {
	case g.Kind == OfPlacement:
		p.Kind, p.Name = "Placement", g.Book.Name
		if g.Book.Rule != nil {
			p.Priority = g.Book.Rule.Priority
		}
	case g.Kind == OfObject && g.Object.Wish() != "":
		p.Kind, p.Name = "ObjectLabel", g.Object.Wish()
	case g.Kind == OfNamespace && g.Namespace.Labels.Get(v1alpha1.LabelTarget) != "":
		p.Kind, p.Name = "NamespaceLabel", g.Namespace.Labels.Get(v1alpha1.LabelTarget)
	case g.Wish().Nowhere():
		p.Kind = "None"
	}
	if o == nil {
		return p
	}
	for _, r := range g.Space.Rules {
		if (g.Kind != OfPlacement || r.Name != p.Name) && r.Matches(o.Subject()) && len(p.Over) < 20 {
			p.Over = append(p.Over, r.Name)
		}
	}
	return p
}

// Overruled says who decides about what a Placement selects that decides about nothing; empty when it selects nothing.
// The lock must be held.
func (g *Group) Overruled() string {
	r, first, by, n := g.Rule(), "", "", 0
	g.Space.EachObject(func(o *Object) {
		if r == nil || !o.Present || o.Source == nil || !r.Matches(o.Subject()) {
			return
		}
		if name := o.Key().Resource + "/" + o.Name; n == 0 || name < first {
			p := o.Source.Policy(nil)
			first, by = name, strings.TrimSpace(p.Kind+" "+p.Name)
		}
		n++
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("spec.objects selects %d objects that something before this Placement decides about: %s by %s",
		n, first, by)
}

// WaitsForContent reports whether a Namespace is decided only when something is in it: every space
// has this one, most never use it. All others are decided at once, here or, where the space was not
// known yet, by the decision writer.
func WaitsForContent(name, wish string) bool {
	return (name == metav1.NamespaceDefault || name == metav1.NamespaceSystem) && wish == ""
}

// WaitsForContent reports it of a Namespace that the catalog has.
func (g *Group) WaitsForContent() bool {
	return WaitsForContent(g.Namespace.Name, g.Namespace.Labels.Get(v1alpha1.LabelTarget))
}
