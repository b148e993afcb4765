package catalog

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/placement"
)

// Replicas that a Placement divides are shared out when an object is rendered: all targets get the
// same bytes, which name the share of each (placement.Division), and each takes its own. So a change
// of shares is one new version of the object, and no target ever has the old share of one decision
// beside the new share of another. A target that an older version does not name has no replicas.

// Division is how a Placement shares replicas out at the moment, nil where it does not. The lock must
// be held.
func (c *Catalog) Division(b *Rulebook) *placement.Division {
	if b.Rule == nil || b.Rule.Divided == nil {
		delete(c.Divided, b)
		return nil
	}
	c.Divided[b] = struct{}{}
	r, _ := c.Records.Index.Binding(b.Group.ID())
	here := r.Here()
	if len(here) == 0 {
		return nil // what it selects is still where something else has put it
	}
	is, was := c.Names(here), []string(nil)
	if to := c.Names(r.Staying()); len(to) > 0 && !r.Settled() {
		is, was = to, c.Names(before(r.Record))
	}
	return placement.NewDivision(c.weights(b.Rule.Divided, is), c.weights(b.Rule.Divided, was))
}

// before are the targets that a record had before the change that it is in, and has still.
func before(r binding.Record) (out []binding.TargetID) {
	for _, p := range r.Places {
		if !p.Off && p.For == 0 {
			out = append(out, p.Target)
		}
	}
	return out
}

func (c *Catalog) weights(basis *placement.Basis, names []string) []placement.Weight {
	var out []placement.Weight
	for _, name := range names {
		var of labels.Set
		var has corev1.ResourceList
		if t := c.Targets[name]; t != nil {
			of, has = t.Labels, t.Has.Allocatable
		}
		out = append(out, basis.Of(name, of, has))
	}
	return out
}

// elsewhere reports whether an object is at places, or on its way from places, that its Placement has no
// shares for: it has all its replicas there until it has arrived. The lock must be held.
func (c *Catalog) elsewhere(o *Object) bool {
	unit, r := o.Source.ID(), c.Records.Of(o)
	switch {
	case r == (binding.Ref{Unit: unit}), r == (binding.Ref{}):
		return false
	case r.Cohort != 0:
		co, _ := c.Records.Index.Cohort(r.Cohort)
		to, _ := c.Records.Index.Binding(unit)
		return co.To != unit || !co.Settled() || !co.SamePlaces(to.Record)
	}
	return true
}

// Division is how the replicas of an object are divided in the version that its targets get, nil where
// they are not.
func (o *Object) Division() *placement.Division {
	if o.Options == nil || !placement.HasReplicas(o.Kind.Group, o.Kind.Resource) {
		return nil
	}
	return o.Options.Division
}

// autoscaled reports whether an autoscaler goes with a workload: it scales it at each target.
func (o *Object) autoscaled() bool {
	if o.Ties == nil || !placement.HasReplicas(o.Kind.Group, o.Kind.Resource) {
		return false
	}
	for f := range o.Ties.Followers.all() {
		if f.Present && placement.Autoscales(f.Kind.Group, f.Kind.Resource) && (f.Source == o.Source || !f.StandsAlone()) {
			return true
		}
	}
	return false
}

// Scaled are the workloads that an object scales, none where it is no autoscaler.
func (o *Object) Scaled() []*Object {
	if o.Ties == nil || !placement.Autoscales(o.Kind.Group, o.Kind.Resource) {
		return nil
	}
	return o.Ties.Leaders.list()
}

// Divided reports whether what an object counts is divided in the version that its targets get.
func (o *Object) Divided() bool {
	return o.Options != nil && o.Options.Division != nil && placement.Divides(o.Kind.Group, o.Kind.Resource)
}

// AddShares says how many replicas of an object each target is given. The object may be nil.
func AddShares(s *v1alpha1.PlacementReviewStatus, o *Object) {
	if o == nil || o.Division() == nil || o.Work == nil {
		return
	}
	shares := o.Division().Shares(o.Work.Replicas)
	for i := range s.Targets {
		if t := &s.Targets[i]; o.On.Has(t.Name) {
			t.Replicas = new(shares[t.Name])
		}
	}
}

// TooFewReplicas is the reason of the condition skerry.dev/Scheduled of a workload that has fewer replicas than its
// Placement has targets to divide them among.
const TooFewReplicas = "TooFewReplicas"

// shortOfReplicas says which targets of a workload have none of its replicas, as there are too few; empty while it
// moves, where it is to have none at all, and of targets of weight 0.
func (o *Object) shortOfReplicas() string {
	d := o.Division()
	if d == nil || len(d.Was) > 0 || !o.Present || o.Leaving || o.Work == nil || o.Work.Replicas <= 0 {
		return ""
	}
	shares := d.Shares(o.Work.Replicas)
	var without []string
	for _, w := range d.Is {
		if w.Weight > 0 && shares[w.Target] == 0 && o.On.Has(w.Target) {
			without = append(without, w.Target)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.replicas is %d, and its Placement divides them among %d targets: none runs on %s; raise "+
		"spec.replicas, or set spec.targets.count of the Placement", o.Work.Replicas, len(shares)+len(without),
		placement.Some(without))
}

// portion is what a group asks of each of its targets, of what a member requests. Before it is decided
// which they are, they count alike.
func (g *Group) portion(o *Object) placement.Requests {
	r := o.Work.Requests
	if g.Kind != OfPlacement || g.Book.Rule == nil || g.Book.Rule.Divided == nil ||
		!placement.HasReplicas(o.Kind.Group, o.Kind.Resource) {
		return r
	}
	targets := int64(max(1, g.Record.Len(), g.Wish().Count))
	return r.Of((r.Pods + targets - 1) / targets)
}

// Unshared reports whether an object is yet to be rendered with the shares of its targets. Until then
// no further target gets it: it would have all replicas there, too. The lock must be held.
func (c *Catalog) Unshared(o *Object) bool {
	if o.Source == nil || o.Source.Kind != OfPlacement || !o.Present ||
		!placement.HasReplicas(o.Kind.Group, o.Kind.Resource) {
		return false
	}
	m := c.WantedOptions(o)
	return m != nil && m.Division != nil && (o.Options.sharing() == nil ||
		c.keptAs(o, func(is Scaled) bool { return is.Shares == "" }))
}
