package catalog

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// A StatefulSet on two targets is two sets of Pods of the same names, each with data of its own, and
// each takes itself for the only one. So it runs on one target, unless its Placement
// (spec.targets.replicas) or the object itself (skerry.dev/replicas) says that it is to be
// duplicated: on the target that the record marks (binding.Place.Sole). While it goes from there to
// another one it is on neither, see MovesLast.

// isStateful reports whether a kind is one whose copies must not be taken for one another.
func isStateful(
	group, resource string,
) bool {
	return group == "apps" && resource == "statefulsets"
}

// KeptSingle reports whether an object of a group runs on one target only.
func (o *Object) KeptSingle() bool {
	return isStateful(o.Kind.Group, o.Kind.Resource) && !o.Duplicates && !o.Source.duplicates()
}

// duplicates reports whether the Placement of a group says that StatefulSets are to be duplicated.
func (g *Group) duplicates() bool {
	r := g.Rule()
	return r != nil && r.Duplicates
}

// RecordOf is where the record of an object says that it is. The lock must be held.
func (c *Catalog) RecordOf(o *Object) *Set {
	if o.Source == nil {
		return nil
	}
	at := c.Records.placeOf(o)
	if at.copying != nil && o.IsClaim() {
		return c.Sets.Union(at.On, at.copying)
	}
	return at.of1((at.On.Len() > 1 || at.held) && o.KeptSingle(), o.MovesLast(), c)
}

// MovesLast reports whether an object comes to a target only when nothing is left on the other one: what must not run
// twice would, for as long as the others take to get ready.
func (o *Object) MovesLast() bool { return o.RunsOnce() }

// of1 is where a record has an object that may be one which is on one target only, or moves last. The former
// is nowhere while it has left one, and it is not known yet that it is gone there.
func (at Stored) of1(single, last bool, c *Catalog) *Set {
	switch {
	case last && at.beside != nil && single && at.sole != nil:
		return c.Sets.Minus(at.sole, at.beside)
	case last && at.beside != nil:
		return c.Sets.Minus(at.On, at.beside)
	case !single:
		return at.On
	case at.sole != nil:
		return at.sole
	case at.held:
		return nil
	}
	return c.Sets.Of(at.On.Names[:1])
}

// RecordFor is RecordOf for an object that is being created.
func (c *Catalog) RecordFor(g *Group, k store.Key, annotations map[string]string) *Set {
	u := c.Records.Units[g.ID()]
	if u == nil {
		return nil
	}
	single := isStateful(k.Group, k.Resource) && !g.duplicates() &&
		annotations[v1alpha1.AnnotationReplicas] != string(v1alpha1.ReplicasDuplicated)
	last := k.Group == "batch" && k.Resource == "cronjobs"
	return u.of1((u.On.Len() > 1 || u.held) && single, last, c)
}

// VersionsOn are versions for who counts targets: what is not on all of its record is asked for where it is.
// The lock must be held.
func (c *Catalog) VersionsOn(o *Object) *placement.Versions {
	all := c.Versions(o)
	if o.Source == nil || !o.KeptSingle() && !(o.MovesLast() && c.Records.placeOf(o).beside != nil) {
		return all
	}
	out := &placement.Versions{Named: map[string]*placement.Demand{}}
	for _, target := range c.RecordOf(o).List() {
		if demand, has := all.At(target, o.Demand()); has {
			out.Named[target] = &demand
		}
	}
	return out
}

// singleText says where a StatefulSet is kept, empty for what is wherever its record says.
func (c *Catalog) singleText(o *Object) string {
	if !isStateful(o.Kind.Group, o.Kind.Resource) || o.Source == nil {
		return ""
	}
	all := o.Source.Record
	if !o.Present || o.Leaving || all.Len() <= 1 || !o.KeptSingle() || c.RecordOf(o).Len() != 1 {
		return ""
	}
	on := c.RecordOf(o).List()
	others := slices.DeleteFunc(
		slices.Clone(all.List()),
		func(name string) bool { return slices.Contains(on, name) },
	)
	return fmt.Sprintf(
		"a StatefulSet runs on one target, %s, because copies on %s would have the same names and "+
			"data of their own; to have it on all of them write spec.targets.replicas: Duplicated in the Placement, or "+
			"the annotation %s: Duplicated on the StatefulSet; to have everything on one target set its count to 1",
		strings.Join(on, " and "),
		placement.Some(others),
		v1alpha1.AnnotationReplicas,
	)
}

// NotesPlace has people told where a StatefulSet is kept, that the volume of a workload is elsewhere, that it has no
// replica for each of its targets, or what does not go along with an object, when that is news. The lock must be held.
func (c *Catalog) NotesPlace(o *Object) {
	n := PlaceNote{Reason: OneTarget, Text: c.singleText(o)}
	if n.Text == "" {
		n = PlaceNote{Reason: VolumeElsewhere, Text: o.volumesApart(c)}
	}
	if n.Text == "" {
		n = PlaceNote{Reason: TooFewReplicas, Text: o.shortOfReplicas()}
	}
	if n.Text == "" {
		n = PlaceNote{Reason: SelectsElsewhere, Text: c.staying(o)}
	}
	if c.PlaceNotes[o].Text == n.Text {
		return
	}
	c.PlaceNotes[o] = n
	c.Says.Add(o.Key())
}

// PlaceNote is what people are to be told of where an object is, empty when it does not hold any more,
// and whether they have been.
type PlaceNote struct {
	Reason, Text string
	Told         bool
}

// OneTarget is the reason of the condition skerry.dev/Scheduled of a StatefulSet that is kept on one
// of several targets.
const OneTarget = "OneTarget"

// SelectsElsewhere is the reason of the condition skerry.dev/Scheduled of an object with which something
// does not go along that selects or names it, see placement.Follower.
const SelectsElsewhere = "SelectsElsewhere"
