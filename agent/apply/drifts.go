package apply

import (
	"sync"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// drifts are the objects of which fields are ours no longer, each with a hash of its content then.
type drifts struct {
	mu   sync.Mutex
	seen compactmap.Map[store.Key, drift]
}

type drift struct {
	content uint64
	handled bool // reported, and to be left until it changes again
}

// record records a drift. It reports false if it is known.
func (d *drifts) record(k store.Key, content uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.seen.Find(k); ok && known.content == content {
		return false
	}
	d.seen.Put(k, drift{content: content})
	return true
}

// open reports whether there is a drift to handle, or one that was reported and is left as it is.
func (d *drifts) open(k store.Key) (open, told bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.seen.Find(k)
	return ok && !known.handled, ok && known.handled
}

// handle leaves a drift as it is until it changes. One that has changed meanwhile stays open.
func (d *drifts) handle(k store.Key, content uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen.Get(k).content == content {
		d.seen.Put(k, drift{content: content, handled: true})
	}
}

// close drops a drift, and reports whether there was one.
func (d *drifts) close(k store.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.seen.Has(k)
	d.seen.Delete(k)
	return known
}
