package delivery

import (
	"slices"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// Roles, bindings and webhooks for what is born at sites act in their space. They are also sent to
// those targets whose site has opened the space's controllers, or webhooks (status.policy of the
// SyncTarget), where something of their Namespace is, or of their space where they are in none.
// They follow, as definitions do: no wish decides about them, and no move waits for them.

// opened is which spaces a target has opened, as patterns of names.
type opened struct{ controllers, clusterControllers, webhooks []string }

func readOpened(obj map[string]any) opened {
	list := func(field string) (out []string) {
		for _, v := range fields.List(obj, "status", "policy", field) {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return opened{list("controllers"), list("clusterControllers"), list("webhooks")}
}

func (o opened) equal(other opened) bool {
	return slices.Equal(o.controllers, other.controllers) &&
		slices.Equal(o.clusterControllers, other.clusterControllers) &&
		slices.Equal(o.webhooks, other.webhooks)
}

// rights reports whether an object is a Role or a binding, or a configuration of webhooks: it
// follows what its space has, to sites that have opened it.
func (o *object) rights() bool { return placement.IsRights(o.kind.group) || o.webhooks() }

func (o *object) webhooks() bool { return placement.IsWebhooks(o.kind.group, o.kind.resource) }

// opens reports whether a site has opened an object.
func (p opened) opens(o *object) bool {
	if o.webhooks() {
		return placement.Named(p.webhooks, o.ns.space.name)
	}
	return placement.Opens(p.controllers, p.clusterControllers, o.ns.space.name, o.ns.name)
}

// atSites is where a Role, a binding or a configuration of webhooks is. The lock must be held.
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
		if t != nil && !t.emptied && t.opened.opens(o) {
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
