package catalog

import "skerry.dev/skerry/server/placement"

// Callers come from outside to a Service by an Ingress or by a route of the Gateway API. Where one of these has a place
// of its own, the Service has its name there, if it reaches its space: the controller there calls it by that.

// entered reports whether others than Pods of the space are sent to a Service: what follows one are Ingresses and
// routes. The lock must be held.
func entered(o *Object) bool { return o.Ties != nil && o.Ties.Followers.len() > 0 }

// enteredAt is where what sends callers to a Service is. The lock must be held.
func enteredAt(c *Catalog, o *Object) (at *Set) {
	if o.Ties == nil {
		return nil
	}
	for f := range o.Ties.Followers.all() {
		at = c.Sets.Union(at, c.Feeds(f))
	}
	return at
}

// EntersTo are the Services that reach their space and that an object sends callers to. The lock must be held.
func EntersTo(o *Object) (out []*Object) {
	if o.Ties == nil || o.Ties.of == nil || o.Ties.of.Selector != nil {
		return nil // what selects Pods sends nobody to a Service, and may have thousands of leaders
	}
	for l := range o.Ties.Leaders.all() {
		if l.Reaches {
			out = append(out, l)
		}
	}
	return out
}

// Selects are the objects that an object selects or names, where it goes along with what it does. The lock must be
// held.
func Selects(o *Object) []*Object {
	if o.Ties == nil {
		return nil
	}
	return o.Ties.Leaders.list()
}

// AnswersAt are the targets that have a Service which reaches its space and that have, or may have, what answers for
// it: where the Service itself is, and where its name is and what it selects. The lock must be held.
func AnswersAt(c *Catalog, o *Object) []string {
	if o.Ties == nil || o.Named == nil {
		return o.On.List()
	}
	return c.Sets.Union(o.On, c.Sets.Both(o.Named, c.everywhere(nil, o.Ties.here))).List()
}

// answersElsewhere reports whether an object is reached also from targets where it is not: it is a Service that reaches
// its space, or sends callers to such ones alone. The lock must be held.
func answersElsewhere(o *Object) bool {
	if o.Reaches {
		return true
	}
	to := EntersTo(o)
	return len(to) > 0 && len(to) == o.Ties.Leaders.len()
}

// answersFrom is answersElsewhere of an object that is about to be written, by what it is to follow and its own word.
// The lock must be held.
func answersFrom(c *Catalog, n *Namespace, f *placement.Follower, own placement.Reach) bool {
	if f.Selector != nil || own != placement.ReachTarget {
		return n.reaches(own)
	}
	all, found := true, false
	c.leaders(n, f, func(l *Object) { all, found = all && l.Reaches, true })
	return all && found
}
