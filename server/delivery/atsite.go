package delivery

import (
	"slices"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// Roles and bindings act in their space. They are also sent to those targets whose site has opened
// the space's controllers (status.policy of the SyncTarget), where something of their Namespace is,
// or of their space where they are in none. They follow, as definitions do: no wish decides about
// them, and no move waits for them.

// opened is which spaces a target has opened, as patterns of names.
type opened struct{ controllers, clusterControllers []string }

func readOpened(obj map[string]any) opened {
	list := func(field string) (out []string) {
		for _, v := range fields.List(obj, "status", "policy", field) {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return opened{list("controllers"), list("clusterControllers")}
}

func (o opened) equal(other opened) bool {
	return slices.Equal(o.controllers, other.controllers) && slices.Equal(o.clusterControllers, other.clusterControllers)
}

// rights reports whether an object is a Role or a binding.
func (o *object) rights() bool { return placement.IsRights(o.kind.group) }

// atSites is where a Role or a binding is. The lock must be held.
func (d *Delivery) atSites(o *object) *set {
	if o.leaving {
		return nil
	}
	here := o.ns.here
	if o.ns.name == "" {
		here = o.ns.space.here
	}
	var out []string
	for _, name := range d.everywhere(nil, here).list() {
		t := d.targets[name]
		if t != nil && !t.emptied && placement.Opens(t.opened.controllers, t.opened.clusterControllers, o.ns.space.name,
			o.ns.name) {
			out = append(out, name)
		}
	}
	return d.sets.of(out)
}

// settleRights has the Roles and bindings of a Namespace follow it; those of a space's cluster follow
// the space.
func (s *step) settleRights(n *namespace) {
	for o := range n.rights {
		s.settle(o, false)
	}
}

// open takes over what a target has opened.
func (s *step) open(t *target, now opened) {
	if t.opened.equal(now) {
		return
	}
	t.opened = now
	if s.bulk {
		return // everything is settled at the end
	}
	for _, sp := range s.d.spaces {
		s.settleRights(sp.cluster)
		for _, n := range sp.namespaces {
			s.settleRights(n)
		}
	}
}

// indexRights notes that an object exists, or does not.
func indexRights(o *object) {
	switch {
	case !o.rights():
	case !o.present:
		delete(o.ns.rights, o)
	default:
		if o.ns.rights == nil {
			o.ns.rights = map[*object]struct{}{}
		}
		o.ns.rights[o] = struct{}{}
	}
}
