package observe

import (
	"context"

	"skerry.dev/skerry/store"
)

// rewound reports whether the target is at an older revision than what was seen or written there:
// it was restored from a backup. What is known of its objects is then out of date. What was applied
// may be undone without a change of field owners, so all of it is applied again.
func (w *watcher) rewound(ctx context.Context, than uint64) (bool, error) {
	if than == 0 {
		return false, nil
	}
	now, err := w.client.Revision(ctx, w.listing)
	if err != nil || now == 0 || now >= than {
		return false, err
	}
	w.o.Log.Warn("the target's history went back; everything is compared with it anew",
		"resource", w.listing.Resource, "now", now, "was", than)
	w.o.applier.Rewound(w.o.rewind(w.key))
	return true, nil
}

// newest returns the greatest revision at which anything of a watched resource was seen or written.
func (o *Observer) newest(w watchKey) (newest uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.born {
		return 0 // nothing is written, and a list says all
	}
	for rec := range o.records.All() {
		k := rec.key
		if (resource{k.Group, k.Resource}) != w.resource {
			continue
		}
		newest = max(newest, rec.revision)
		if r, ok := o.Inventory.Get(k); ok {
			newest = max(newest, revisionOf(r.ResourceVersion))
		}
	}
	return newest
}

// rewind drops the revisions at which anything of a watched resource was seen. It returns the keys
// that are in the inventory.
func (o *Observer) rewind(w watchKey) (placed []store.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.born {
		for _, b := range o.upsyncs.born {
			if b.at.watch == w {
				b.revision = 0
			}
		}
		return nil
	}
	for rec := range o.records.All() {
		k := rec.key
		if (resource{k.Group, k.Resource}) != w.resource {
			continue
		}
		rec.revision = 0
		if rec.counted != nil && *rec.counted == w {
			placed = append(placed, k)
		}
	}
	return placed
}
