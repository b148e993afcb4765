package delivery

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// DecidedBy returns the Placement that decides about an object, empty where none does.
func (d *Delivery) DecidedBy(k store.Key) string {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	if o := d.catalog.Find(k); o != nil && o.Source != nil && o.Source.Kind == catalog.OfPlacement {
		return o.Source.Book.Name
	}
	return ""
}

// Customizers is how many a space has.
func (d *Delivery) Customizers(name string) int {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	if sp := d.catalog.Spaces[name]; sp != nil {
		return len(sp.Customizers)
	}
	return 0
}

// Needs lists what the pods of a workload name.
func (d *Delivery) Needs(k store.Key) []store.Key {
	return d.catalog.Related(k, func(w *catalog.Work) []*catalog.Object { return w.Names })
}

// NeededBy lists the workloads whose pods name an object.
func (d *Delivery) NeededBy(k store.Key) []store.Key {
	return d.catalog.Related(k, func(w *catalog.Work) []*catalog.Object { return w.NamedBy })
}

// Parts warns of a label that parts an object from what goes along with it.
func (d *Delivery) Parts(k store.Key, label string, content map[string]any) string {
	return d.catalog.Parts(k, label, content)
}

// NoSuchTarget says which of some names a space has no target by, empty for none.
func (d *Delivery) NoSuchTarget(space string, names []string, selectors []labels.Selector) string {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	sp := d.catalog.Spaces[space]
	if sp == nil || !sp.Known {
		return ""
	}
	return d.catalog.World(sp).NoSuchTarget(names, selectors)
}

// Intend announces that an object of a space is about to be deleted although nothing is lost: a
// relay's parent has it go on elsewhere.
func (d *Delivery) Intend(k store.Key) {
	d.catalog.Lock()
	defer d.catalog.Unlock()
	now := time.Now()
	if len(d.catalog.Intents) >= catalog.MaxIntents {
		for other, at := range d.catalog.Intents {
			if now.Sub(at) > catalog.IntentTime {
				delete(d.catalog.Intents, other)
			}
		}
	}
	if len(d.catalog.Intents) < catalog.MaxIntents {
		d.catalog.Intents[k] = now
	}
}
