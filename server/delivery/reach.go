package delivery

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// Serving returns the targets where the Service of a key and UID is and may be called, besides one that asks, in no
// order, and the UID that it has at the parent of a relay, empty where it does not come from there. It is false where
// the one that asks has neither the Service nor its name. The parent, which asks without the name of a target, has it.
func (d *Delivery) Serving(target string, k store.Key, uid string) (at []string, above string, has bool) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	o := d.catalog.Find(k)
	if o == nil || !o.Present || o.UID != uid || !o.Reaches || target != "" && !o.HasAt(target) {
		return nil, "", false
	}
	at, _ = answering(d.catalog, o, target)
	rand.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	return at, o.Above(), true
}

// ClosedOf returns what says of a Service at which targets, besides one, it is and may not be called: there the
// SyncTarget says so.
func ClosedOf(d *Delivery) func(target string, k store.Key) []string {
	return func(target string, k store.Key) (closed []string) {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		o := d.catalog.Find(k)
		if o == nil || !o.Present {
			return nil
		}
		_, closed = answering(d.catalog, o, target)
		return closed
	}
}

// NamedOf returns what says of a Service, by its key and UID, which targets have it or its name, and whether it reaches
// its space.
func NamedOf(d *Delivery) func(k store.Key, uid string) (at []string, reaches bool) {
	return func(k store.Key, uid string) ([]string, bool) {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		o := d.catalog.Find(k)
		if o == nil || !o.Present || o.UID != uid {
			return nil, false
		}
		return d.catalog.Feeds(o).List(), o.Reaches
	}
}

// ExportedOf returns what says of a Service that serves an import, and that a parent has sent, which Services at this
// relay answer for it, and their UIDs, and what name they have there. It is false for every other one.
func ExportedOf(d *Delivery) func(k store.Key) (service string, all map[store.Key]string, is bool) {
	return func(k store.Key) (string, map[store.Key]string, bool) {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		o := d.catalog.Find(k)
		if o == nil || !o.Present {
			return "", nil, false
		}
		service, exported, is := catalog.Exported(d.catalog, o)
		all := map[store.Key]string{}
		for _, e := range exported {
			all[e.Key()] = e.UID
		}
		return service, all, is
	}
}

// CallableOf returns what finds the UID of a Service that is to be called from a target. The error is one of
// Kubernetes' API: the space has no such Service, or may use no such target.
func CallableOf(d *Delivery) func(k store.Key, target string) (uid string, err error) {
	return func(k store.Key, target string) (string, error) {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		sp, o := d.catalog.Spaces[k.Space], d.catalog.Find(k)
		if sp == nil || !sp.Known || o == nil || !o.Present {
			return "", apierrors.NewNotFound(schema.GroupResource{Resource: k.Resource}, k.Name)
		}
		var offered []string
		for _, t := range d.catalog.Targets {
			if sp.Offered == nil || sp.Offered.Matches(t.Labels) || o.HasAt(t.Name) {
				offered = append(offered, t.Name)
			}
		}
		slices.Sort(offered)
		if !slices.Contains(offered, target) {
			return "", apierrors.NewBadRequest(fmt.Sprintf("spec.from: this space has no target %q; it has %s", target,
				cmp.Or(placement.Some(offered), "none")))
		}
		return o.UID, nil
	}
}

// AffinityOf returns what says for how long after a call the callers of a Service come back to what has answered them.
func AffinityOf(d *Delivery) func(k store.Key) time.Duration {
	return func(k store.Key) time.Duration {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		return d.catalog.Affine[d.catalog.Find(k)]
	}
}

// MovesOf returns what says of a Service whether it, or what answers for it, is on its way to another target.
func MovesOf(d *Delivery) func(k store.Key) bool {
	return func(k store.Key) bool {
		d.catalog.RLock()
		defer d.catalog.RUnlock()
		o := d.catalog.Find(k)
		return o != nil && o.Present && catalog.Moves(d.catalog, o)
	}
}

// Ways says which ways to reach into targets are closed by spec.allow of their SyncTargets, and what theirs cost.
type Ways struct{ catalog *catalog.Catalog }

// WaysOf returns those of the targets of a Delivery.
func WaysOf(d *Delivery) Ways { return Ways{d.catalog} }

// Closes reports whether a way into a target is closed, one of exchange.Ways.
func (w Ways) Closes(target, way string) bool {
	w.catalog.RLock()
	defer w.catalog.RUnlock()
	t := w.catalog.Targets[target]
	return t != nil && t.Closes(way)
}

// Metered reports whether the bytes of a target's link are paid for.
func (w Ways) Metered(target string) bool {
	w.catalog.RLock()
	defer w.catalog.RUnlock()
	t := w.catalog.Targets[target]
	return t != nil && t.Metered
}

// answering are the targets where a Service is, but one: those where it may be called, and those whose SyncTarget
// closes that. The lock must be held.
func answering(c *catalog.Catalog, service *catalog.Object, one string) (open, closed []string) {
	for _, name := range catalog.AnswersAt(c, service) {
		switch t := c.Targets[name]; {
		case name == one || t == nil:
		case t.Closes(exchange.Calling):
			closed = append(closed, name)
		default:
			open = append(open, name)
		}
	}
	return open, closed
}
