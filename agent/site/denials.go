package site

import (
	"sync"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// Denials are the Namespaces that the site refuses to their space. Reports of objects in them say
// so.
type Denials struct {
	mu  sync.Mutex
	why map[store.Key]*policy.Refusal
}

// Set notes why a Namespace is refused.
func (d *Denials) Set(k store.Key, why *policy.Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why = map[store.Key]*policy.Refusal{}
	}
	d.why[k] = why
}

// Clear forgets a Namespace that is not refused, or not wished.
func (d *Denials) Clear(k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.why, k)
}

func (d *Denials) get(k store.Key) *policy.Refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why[k]
}
