package catalog

import (
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// UnitOf names what a Binding is about.
func UnitOf(k store.Key) v1alpha1.BindingUnit {
	return v1alpha1.BindingUnit{Group: k.Group, Resource: k.Resource, Namespace: k.Namespace, Name: k.Name}
}

// Passing says what is to be written about an object first. The lock must be held.
func (c *Catalog) Passing(o *Object) binding.Pass {
	if !o.Present || o.Leaving || o.Retired || o.Source == nil || o.Source.ID() == "" {
		return binding.Remains
	}
	g := o.Source
	if c.unlisted(o) {
		return binding.NotYet // the record of the release that it is in wakes it
	}
	_, parts := c.Parting[o]
	return c.Records.Index.Pass(binding.Subject{
		ID: binding.ObjectID(o.UID), Stamp: o.Stamp(), Wished: g.ID(), Once: g.BreaksFirst(),
		Ended: o.Finished, Parts: parts,
	})
}

// Pass has an object pass to who wishes it, if it is not there. The lock must be held.
func (c *Catalog) Pass(o *Object) {
	switch c.Passing(o) {
	case binding.Remains, binding.NotYet:
	case binding.Later:
		if !c.Idle(o) {
			c.Notes.Add(o.Key())
		}
	default:
		c.Groups.Add(Ref{Kind: OfPass, Key: o.Key()})
	}
}

// Idle reports whether an object is nowhere, and would be nowhere with its stamp, so that there is time
// for that. The lock must be held.
func (c *Catalog) Idle(o *Object) bool { return o.With == nil && o.Source.Record.Len() == 0 }

// CohortRef names a cohort in the queue.
func CohortRef(space string, seq uint64) Ref {
	return Ref{Kind: OfCohort, Key: store.Key{Space: space, Name: strconv.FormatUint(seq, 10)}}
}

// CohortMembers are the objects that a cohort decides about. The lock must be held.
func (c *Catalog) CohortMembers(known *Cohort, ended bool) (out []*Object) {
	for o := range known.Objects {
		if o.Present && !o.Leaving && (ended || !o.Finished) && c.Records.Of(o) == (binding.Ref{Cohort: known.Seq}) {
			out = append(out, o)
		}
	}
	return out
}

// Event is one about an object, without words. The lock must be held.
func (o *Object) Event() placement.Event {
	return placement.Event{Key: o.Key(), APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID}
}

// PassWords is what is said of a cohort: why it does not come to where it passes to, and the move that
// it is.
type PassWords struct {
	Reason, Why string
	Move        placement.Moving
}
