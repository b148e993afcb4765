package catalog

import (
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// Mover is the mark of a Deployment that copies a volume, and until when it keeps the one that was left, zero while
// that has not begun.
type Mover struct {
	volumes.Mark
	Until time.Time
}

// ReadMover reads the mark of a Deployment that copies a volume, nil for any other object.
func ReadMover(k store.Key, obj map[string]any) *Mover {
	if k.Group != "apps" || k.Resource != "deployments" {
		return nil
	}
	m, ok := volumes.ParseMark(fields.Clone(obj, "metadata", "annotations", v1alpha1.AnnotationMover))
	if !ok {
		return nil
	}
	until, _ := time.Parse(time.RFC3339, fields.String(obj, "metadata", "annotations", v1alpha1.AnnotationKeepUntil))
	return &Mover{m, until}
}

// Mover is the mark of an object that copies a volume, nil for any other one.
func (o *Object) Mover() *Mover {
	if o.Work == nil {
		return nil
	}
	return o.Work.Mover
}

// MovesVolumes reports whether what the volumes of a group hold goes with it: its Placement says so, or, where none
// decides, its Namespace. The group may be nil.
func (g *Group) MovesVolumes() bool {
	switch {
	case g == nil:
		return false
	case g.Kind == OfPlacement:
		return g.Book.Rule != nil && g.Book.Rule.Volumes == v1alpha1.VolumesMove
	case g.Kind == OfNamespace:
		return g.Namespace.Volumes == v1alpha1.VolumesMove
	}
	return false
}

// KeepsVolumes is how long volumes stay that a group has left. The group may be nil.
func (g *Group) KeepsVolumes() time.Duration {
	if r := g.Rule(); r != nil && r.KeepVolumes != nil {
		return *r.KeepVolumes
	}
	return 24 * time.Hour
}

// Movers are the Deployments that copy volumes, by the unit that moves. The lock of their catalog is held.
type Movers map[binding.UnitID]map[*Object]struct{}

// Of visits those of a unit.
func (m Movers) Of(unit binding.UnitID, visit func(*Object)) {
	for o := range m[unit] {
		visit(o)
	}
}

// Mark takes over the mark of an object, nil for one that is no mover.
func (m Movers) Mark(o *Object, is *Mover) {
	was := o.Mover()
	if was != nil {
		if delete(m[was.Unit], o); len(m[was.Unit]) == 0 {
			delete(m, was.Unit)
		}
	}
	switch {
	case is != nil:
		o.NeedWork().Mover = is
		if m[is.Unit] == nil {
			m[is.Unit] = map[*Object]struct{}{}
		}
		m[is.Unit][o] = struct{}{}
	case was != nil:
		o.Work.Mover = nil
		o.DropWork()
	}
}
