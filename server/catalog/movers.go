package catalog

import (
	"encoding/json"
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
	// Standby is what it says of the standby that it keeps, nil for none, and Promote whether the unit may begin on that.
	Standby *volumes.Standby
	Promote bool
	// Claim is the name of what it copies, Set the StatefulSet whose templates made that, which has Of of them.
	Claim, Set string
	Of         int
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
	out := &Mover{Mark: m, Until: until}
	if !m.Side.Replicates() {
		return out
	}
	notes := fields.Map(obj, "metadata", "annotations")
	out.Standby = volumes.ParseStandby(fields.String(notes, v1alpha1.AnnotationStandby))
	out.Promote = notes[v1alpha1.AnnotationPromote] == "true"
	for v := range fields.Maps(obj, "spec", "template", "spec", "volumes") {
		out.Claim = fields.Clone(v, "persistentVolumeClaim", "claimName")
	}
	made := store.MoverClaim{}
	if json.Unmarshal([]byte(fields.String(notes, store.AnnotationMoverClaim)), &made) == nil {
		out.Set, out.Of = made.Set, made.Of
	}
	return out
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
		return g.Book.Rule != nil && movesVolumes(g.Book.Rule.Volumes)
	case g.Kind == OfNamespace:
		return movesVolumes(g.Namespace.Volumes)
	}
	return false
}

// MayPay reports whether what volumes of a group hold may move over a link that is metered: its Placement says so, or
// what is said of its standby. The group may be nil.
func (g *Group) MayPay() bool {
	if how, wished := g.Replicates(); wished && how != nil && how.OverMeteredLinks {
		return true
	}
	return g != nil && g.Kind == OfPlacement && g.Book.Rule != nil && g.Book.Rule.OverMetered
}

func movesVolumes(p v1alpha1.VolumePolicy) bool {
	return p == v1alpha1.VolumesMove || p == v1alpha1.VolumesReplicate
}

// Replicates reports whether what the volumes of a group hold is to have a standby, and what is said of that; nil where
// that cannot be read. The group may be nil.
func (g *Group) Replicates() (how *v1alpha1.VolumeReplication, wished bool) {
	switch {
	case g == nil:
	case g.Kind == OfPlacement && g.Book.Rule != nil:
		return g.Book.Rule.Replication, g.Book.Rule.Volumes == v1alpha1.VolumesReplicate
	case g.Kind == OfNamespace:
		return g.Namespace.Replication, g.Namespace.Volumes == v1alpha1.VolumesReplicate
	}
	return nil, false
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
