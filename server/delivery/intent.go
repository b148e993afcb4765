package delivery

import (
	"time"

	"skerry.dev/skerry/store"
)

// How long, and how many, announced deletions are remembered. What is forgotten may be held by a target's brake until an admin confirms it.
const (
	intentTime = time.Minute
	maxIntents = 50_000
)

// intents are deletions that were announced as no loss. The catalog's lock is held.
type intents map[store.Key]time.Time

// Intend announces that an object of a space is about to be deleted although nothing is lost: a relay's parent has it go on elsewhere.
func (d *Delivery) Intend(k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if len(d.intents) >= maxIntents {
		for other, at := range d.intents {
			if now.Sub(at) > intentTime {
				delete(d.intents, other)
			}
		}
	}
	if len(d.intents) < maxIntents {
		d.intents[k] = now
	}
}

// intended tells whether the deletion of an object was announced.
func (d *Delivery) intended(k store.Key) bool {
	at, ok := d.intents[k]
	delete(d.intents, k)
	return ok && time.Since(at) <= intentTime
}

// intends tells whether a target that is told to delete an object need not ask: the object is placed elsewhere, or the target is being emptied.
func (d *Delivery) intends(t *target, k store.Key) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	o := d.find(k)
	return t.emptied || o != nil && o.on.len() > 0
}
