package catalog

import (
	"iter"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// A claim goes wherever something mounts it, and has a volume of its own on each target. Two workloads that mount one
// claim on a cluster share its data; on different targets they do not, and the one that came later begins with an
// empty volume. Nothing can mend that but a person, who is told of it on both.

// VolumeElsewhere is the reason of the condition skerry.dev/Scheduled of a workload that mounts a claim which another
// one mounts on other targets.
const VolumeElsewhere = "VolumeElsewhere"

// mostSharing is how many workloads may mount a claim for them to be compared with each other. More are Jobs that
// come and go.
const mostSharing = 32

// shares reports whether who mounts an object is to be told what the others do.
func (o *Object) shares() bool { return o.IsClaim() && o.Present && len(o.Work.NamedBy) <= mostSharing }

// Sharing are the workloads whose volumes may be apart or together because of where an object is, each with the claim:
// those that mount the same claims, or, of a claim, all that mount it.
func (o *Object) Sharing() iter.Seq2[*Object, *Object] {
	return func(yield func(claim, other *Object) bool) {
		if o.Work == nil {
			return
		}
		claims := o.Work.Names
		if o.IsClaim() {
			claims = []*Object{o}
		}
		for _, claim := range claims {
			if !claim.shares() {
				continue
			}
			for _, w := range claim.Work.NamedBy {
				if w != o && !yield(claim, w) {
					return
				}
			}
		}
	}
}

// volumesApart says of a workload which of its claims another one mounts on other targets, empty for none. The lock
// must be held.
func (o *Object) volumesApart(c *Catalog) string {
	if o.IsClaim() || o.Mover() != nil {
		return ""
	}
	on := c.where(o)
	var parts []string
	for claim, w := range o.Sharing() {
		at := c.where(w)
		if w.Mover() == nil && on.Len() > 0 && at.Len() > 0 && c.Sets.Both(on, at) == nil {
			parts = append(parts, claim.Name+", which "+w.title()+" mounts on "+placement.Some(at.List()))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("a claim has a volume of its own on each target, and here one without the data of the other: ")
	b.WriteString(shortList(parts))
	b.WriteString("; to have both at one volume place them together, by the label " + v1alpha1.LabelTarget +
		" on both or one Placement, else give each a claim of its own")
	return b.String()
}
