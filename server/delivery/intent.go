package delivery

import (
	"time"

	"skerry.dev/skerry/store"
)

// How long, and how many, announced deletions are remembered. What is forgotten may be held by a
// target's deletion guard until an admin confirms it.
const (
	intentTime = time.Minute
	maxIntents = 50_000
)

// intents are deletions that were announced as no loss. The catalog's lock is held.
type intents map[store.Key]time.Time

// Intend announces that an object of a space is about to be deleted although nothing is lost: a
// relay's parent has it go on elsewhere.
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

// intended reports whether the deletion of an object was announced.
func (d *Delivery) intended(k store.Key) bool {
	at, ok := d.intents[k]
	delete(d.intents, k)
	return ok && time.Since(at) <= intentTime
}

// askedFor are deletions that users asked for by name, as the kube API recorded them: the UID of
// each object. A record ends by itself. The catalog's lock is held.
type askedFor struct {
	uids map[store.Key]string
	keys map[string]store.Key // the other way round, by the record's name
}

// deletion takes a record of a deletion that was asked for, or its end.
func (s *step) deletion(w store.Write) {
	a := &s.d.asked
	if w.Object == nil {
		if k, ok := a.keys[w.Key.Name]; ok {
			delete(a.keys, w.Key.Name)
			if a.uids[k] == w.Key.Name {
				delete(a.uids, k)
			}
		}
		return
	}
	var record struct {
		Key store.Key `json:"key"`
	}
	if !s.d.decode(w, &record) || len(a.uids) >= maxIntents {
		return
	}
	a.uids[record.Key], a.keys[w.Key.Name] = w.Key.Name, record.Key
}

// outlived drops the record of an object whose name another one has by now.
func (a *askedFor) outlived(k store.Key, uid string) {
	if was, ok := a.uids[k]; ok && was != uid {
		delete(a.uids, k)
		delete(a.keys, was)
	}
}

// wasAsked reports whether a user has asked for the deletion of just this object, of its Namespace,
// or of the definition of its kind.
func (d *Delivery) wasAsked(o *object) bool {
	if o.uid != "" && d.asked.uids[o.key()] == o.uid {
		return true
	}
	if n := o.ns.self; n != nil && n.leaving && d.asked.uids[n.key()] == n.uid {
		return true
	}
	return d.definitionAsked(o.key())
}

// definitionAsked reports whether a user has asked for the deletion of the definition of a kind.
func (d *Delivery) definitionAsked(k store.Key) bool {
	definition := store.Key{
		Space: k.Space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
		Name: k.Resource + "." + k.Group,
	}
	uid, asked := d.asked.uids[definition]
	if !asked {
		return false
	}
	o := d.find(definition)
	return o == nil || !o.present || o.leaving && o.uid == uid
}

// wasAskedKey is wasAsked for what the catalog does not have any more.
func (d *Delivery) wasAskedKey(k store.Key) bool {
	if _, ok := d.asked.uids[k]; ok || d.definitionAsked(k) {
		return true
	}
	space := d.spaces[k.Space]
	if k.Namespace == "" ||
		space != nil && space.namespaces[k.Namespace] != nil && space.namespaces[k.Namespace].self != nil {
		return false
	}
	_, ok := d.asked.uids[namespaceKey(k.Space, k.Namespace)]
	return ok
}

// intends reports whether a target that is told to delete an object need not ask: the object is
// placed elsewhere, somebody asked for its deletion, the target is being emptied, or it is a right
// that the site, or the admin, has taken back.
func (d *Delivery) intends(t *target, k store.Key) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	o := d.find(k)
	if o != nil && o.present {
		return t.emptied || o.on.len() > 0 || o.rights() || o.leaving && d.wasAsked(o)
	}
	return t.emptied || o != nil && o.on.len() > 0 || d.wasAskedKey(k)
}
