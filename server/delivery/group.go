package delivery

import (
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

type groupKind uint8

const (
	ofNamespace groupKind = iota // what nothing else names in a namespace
	ofPlacement                  // what a Placement selects
	ofObject                     // one object with a wish of its own, or one that is cluster-scoped
	ofHold                       // not a group: objects that change from one group to another, see hold
)

// group is everything that moves together, with its recorded decision.
type group struct {
	kind   groupKind
	space  *space
	ns     *namespace
	book   *rulebook
	object *object
	record *set
	// stale: the annotation of the object is not the record, but noted, which was written while
	// another group decided.
	stale bool
	noted noted
	// left are targets that a namespace's objects are not on any more, whatever their annotations say.
	// Those of it are regained that an object is on which has come to follow the namespace since;
	// the stored list names them until it is written anew.
	left, regained []string
	// waits is since when an object is decided about before the namespace.
	waits time.Time
	// move is what is recorded of a move, nil when there is none.
	move *placement.Move
	// moving is set while the record is not what is wanted: reports of members then wake the
	// decision writer.
	moving bool
	// told is the last Event, so that it is not repeated; said are the conditions that were not as
	// they should be.
	told string
	said map[string]bool
}

// ref names a group in the queue; it holds no pointer, since groups come and go.
type ref struct {
	kind groupKind
	key  store.Key
}

func (g *group) ref() ref {
	switch g.kind {
	case ofNamespace:
		return ref{ofNamespace, namespaceKey(g.space.name, g.ns.name)}
	case ofPlacement:
		return ref{ofPlacement, placementKey(g.space.name, g.book.name)}
	default:
		return ref{ofObject, g.object.key()}
	}
}

func namespaceKey(space, name string) store.Key {
	return store.Key{Space: space, Resource: "namespaces", Name: name}
}

func placementKey(space, name string) store.Key {
	return store.Key{Space: space, Group: v1alpha1.GroupVersion.Group, Resource: "placements", Name: name}
}

// group finds what a ref names, nil when it is gone. The lock must be held.
func (d *Delivery) group(r ref) *group {
	s := d.spaces[r.key.Space]
	if s == nil {
		return nil
	}
	switch r.kind {
	case ofNamespace:
		if n := s.namespaces[r.key.Name]; n != nil && n.self != nil {
			return &n.group
		}
	case ofPlacement:
		if b := s.placements[r.key.Name]; b != nil {
			return &b.group
		}
	case ofObject:
		if o := d.find(r.key); o != nil && o.source != nil && o.source.kind == ofObject {
			return o.source
		}
	}
	return nil
}

// members calls visit for each object that the group decides about, until it returns false.
func (g *group) members(visit func(*object) bool) {
	in := func(n *namespace) bool {
		for _, o := range n.objects {
			if o.present && !o.leaving && o.source == g && !o.finished && !visit(o) {
				return false
			}
		}
		return true
	}
	switch g.kind {
	case ofNamespace:
		in(g.ns)
	case ofObject:
		if g.object.present && !g.object.leaving && !g.object.finished {
			visit(g.object)
		}
	case ofPlacement:
		if !in(g.space.cluster) {
			return
		}
		for _, n := range g.space.namespaces {
			if !in(n) {
				return
			}
		}
	}
}

// regain takes targets out of what a namespace has left: one of its objects is held there.
func (g *group) regain(on *set) {
	for _, name := range on.list() {
		if slices.Contains(g.left, name) && !slices.Contains(g.regained, name) {
			g.regained = append(g.regained, name)
		}
	}
}

// leave takes over what is stored of the targets that a namespace has left.
func (g *group) leave(stored []string) {
	g.left = stored
	g.regained = slices.DeleteFunc(g.regained, func(name string) bool { return !slices.Contains(stored, name) })
}

// wish tells where the group should be.
func (g *group) wish() placement.Wish {
	label := ""
	switch g.kind {
	case ofPlacement:
		if g.book.rule == nil {
			return placement.Wish{}
		}
		return g.book.rule.Wish
	case ofNamespace:
		label = g.ns.labels.Get(v1alpha1.LabelTarget)
	case ofObject:
		label = g.object.wish()
	}
	if label == "" {
		return g.space.fallback
	}
	return placement.Wish{Names: []string{label}, Count: max(1, g.space.fallback.Count)}
}

// sourceOf tells which group decides about an object: its own label, then the first Placement that
// selects it, then its namespace. Kinds that only follow others have none.
func (d *Delivery) sourceOf(o *object) *group {
	if o.kind.class != placement.Placed {
		return nil
	}
	own := func() *group {
		if o.source != nil && o.source.kind == ofObject {
			return o.source
		}
		g := &group{kind: ofObject, space: o.ns.space, object: o}
		g.annotated()
		return g
	}
	if o.wish() != "" {
		return own()
	}
	if g := followed(o); g != nil {
		return g
	}
	return own()
}

// followed is the group that decides about an object without a wish of its own: the first Placement
// that selects it, or its namespace. It is nil for a cluster-scoped object that no Placement
// selects.
func followed(o *object) *group {
	if rules := o.ns.space.rules; len(rules) > 0 {
		if r, _ := placement.Resolve(rules, o.subject()); r != nil {
			return &o.ns.space.placements[r.Name].group
		}
	}
	if o.ns.name == "" {
		return nil
	}
	return &o.ns.group
}

// noted is what an object says of where it is, and whether it says that this is from before.
type noted struct {
	on        *set
	undecided bool
}

// inherit begins the record of an object that decides for itself from now on: with where it is. Its
// annotation may name what it has left, or nothing.
func (g *group) inherit(on *set) {
	o := g.object
	g.record, g.stale, g.noted = on, o.undecided || on != o.note, noted{o.note, o.undecided}
}

// annotated takes over what the annotation of the object says, unless that is still what was noted
// while another group decided.
func (g *group) annotated() {
	now := noted{g.object.note, g.object.undecided}
	if now.undecided || g.stale && g.noted == now {
		g.stale, g.noted = true, now
		return
	}
	g.record, g.stale, g.noted = now.on, false, noted{}
}

// annotation is what stands on the object that holds the record.
func (g *group) annotation() string {
	if g.stale {
		return g.noted.on.record()
	}
	return g.record.record()
}
