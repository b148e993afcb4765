package delivery

import (
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// wakeLater looks again at a group when a toleration ends by which something of it stays.
func (d *Delivery) wakeLater(p *plan) {
	if at := p.choice.Again; !at.IsZero() {
		d.catalog.Groups.AddAfter(p.ref, max(time.Until(at)+time.Millisecond, time.Second))
	}
}

// why says for people why the group leaves targets, or else why it stays where it would not come to
// now; empty when there is nothing to say.
func (p *plan) why() string {
	if len(p.choice.Left) > 0 {
		return catalog.VerdictsText(catalog.LeavesText, p.choice.Left)
	}
	return catalog.VerdictsText("stays on ", p.choice.Stays)
}

// keepReason keeps the reason of the last change of place in the condition Scheduled once the change
// is made.
func keepReason(c *placement.Condition, before catalog.Conditions) {
	if c.Type != v1alpha1.ConditionScheduled || c.Reason != "Decided" || c.Message != "" {
		return
	}
	was := before.Get(c.Type)
	if text := fields.Clone(was, "message"); fields.Clone(was, "reason") == c.Reason &&
		strings.HasPrefix(text, catalog.LeavesText) {
		c.Message = text
	}
}

// members are the objects that a unit's Binding decides about. Those that have to pass before it can
// take a step are noted in the plan: none while nothing is with the unit, since where it was once
// decided to be nobody may wish it any more. The lock must be held.
func (d *Delivery) members(p *plan) (out []*catalog.Object) {
	ref, g := binding.Ref{Unit: p.unit}, p.group
	has := false
	visit := func(o *catalog.Object) {
		if o.Leaving || o.Source == nil {
			return
		}
		at := d.catalog.Records.Of(o)
		is := at == ref
		if !is && (o.Source != g || at == (binding.Ref{})) { // nothing waits for what is nowhere
			return
		}
		has = has || is
		switch d.catalog.Passing(o) {
		case binding.Remains, binding.NotYet, binding.Later:
		default:
			if is || p.at.Revision != 0 {
				p.before = append(p.before, o)
			}
		}
		if is && !o.Finished {
			out = append(out, o)
		}
	}
	d.catalog.Each(g, visit)
	if !has {
		p.before = nil
	}
	return out
}
