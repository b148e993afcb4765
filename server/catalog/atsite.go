package catalog

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel/exchange"
)

// Roles, bindings and webhooks for what is born at sites act in their space. They are also sent to
// those targets whose site has opened the space's controllers, or webhooks (status.policy of the
// SyncTarget), where something of their Namespace is, or of their space where they are in none.
// They follow, as definitions do: no wish decides about them, and no move waits for them.

// Opened is which spaces a target has opened, as patterns of names.
type Opened struct {
	controllers, clusterControllers, webhooks []string
	kinds, denyKinds                          []string // as patterns of kinds
	podSecurity                               []string // see placement.LevelOf
	relay                                     bool     // its own sites say which kinds
	closed                                    []string // exchange.Ways that an admin of this center has closed
}

// ReadOpened reads it from a SyncTarget.
func ReadOpened(obj map[string]any) Opened {
	list := func(field string) (out []string) {
		for _, v := range fields.List(obj, "status", "policy", field) {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	relay, _ := fields.Map(obj, "status")["relay"].(bool)
	var closed []string
	for _, way := range exchange.Ways {
		if open, said := fields.Map(obj, "spec", "allow")[way].(bool); said && !open {
			closed = append(closed, way)
		}
	}
	return Opened{
		list("controllers"), list("clusterControllers"), list("webhooks"), list("kinds"), list("denyKinds"),
		list("podSecurity"), relay, closed,
	}
}

// Equal reports whether two targets have opened the same.
func (o Opened) Equal(other Opened) bool {
	return slices.Equal(o.controllers, other.controllers) &&
		slices.Equal(o.clusterControllers, other.clusterControllers) &&
		slices.Equal(o.webhooks, other.webhooks) && slices.Equal(o.kinds, other.kinds) &&
		slices.Equal(o.denyKinds, other.denyKinds) && slices.Equal(o.podSecurity, other.podSecurity) &&
		o.relay == other.relay && slices.Equal(o.closed, other.closed)
}

// Closes reports whether an admin of this center has closed a way to reach into the target, one of exchange.Ways.
// Only this center can hold a relay to it: a relay hands on no such word.
func (o Opened) Closes(way string) bool { return slices.Contains(o.closed, way) }

// PodSecurity returns the Pod Security level to which a site keeps the Pods of a space, empty where it
// has not said, and where it is a relay.
func (o Opened) PodSecurity(space string) string {
	if o.relay {
		return ""
	}
	return placement.LevelOf(space, o.podSecurity)
}

// Relay reports whether the target is a relay, which says so when it connects.
func (o Opened) Relay() bool { return o.relay }

// Rights reports whether an object is a Role or a binding, a configuration of webhooks, or of a kind
// that travels as an inert one: it follows what its space has, to sites that have opened it.
func (o *Object) Rights() bool {
	return placement.IsRights(o.Kind.Group) || o.webhooks() || placement.OpensByKind(o.Kind.Group, o.Kind.Resource)
}

func (o *Object) webhooks() bool { return placement.IsWebhooks(o.Kind.Group, o.Kind.Resource) }

// opens reports whether a site has opened an object.
func (p Opened) opens(o *Object) bool {
	if placement.OpensByKind(o.Kind.Group, o.Kind.Resource) {
		return o.Labels.Get(v1alpha1.LabelInert) == "true" &&
			(p.relay || placement.AllowsKind(p.kinds, p.denyKinds, o.Kind.Group, o.Kind.Resource))
	}
	if o.webhooks() {
		return placement.Named(p.webhooks, o.Namespace.Space.Name)
	}
	return placement.Opens(p.controllers, p.clusterControllers, o.Namespace.Space.Name, o.Namespace.Name)
}

// atSites is where a Role, a binding or a configuration of webhooks is. The lock must be held.
func (c *Catalog) atSites(o *Object) *Set {
	if o.Leaving {
		return nil
	}
	here := o.Namespace.Here
	if o.Namespace.Name == "" {
		here = o.Namespace.Space.Here
	}
	var out []string
	for _, name := range c.everywhere(nil, here).List() {
		t := c.Targets[name]
		if t != nil && !t.Emptied && t.Opened.opens(o) {
			out = append(out, name)
		}
	}
	return c.Sets.Of(out)
}
