package catalog

import (
	"time"

	"skerry.dev/skerry/store"
)

// How long, and how many, announced deletions are remembered. What is forgotten may be held by a
// target's deletion guard until an admin confirms it.
const (
	IntentTime = time.Minute
	MaxIntents = 50_000
)

// intents are deletions that were announced as no loss. The catalog's lock is held.
type intents map[store.Key]time.Time

// Intended reports whether the deletion of an object was announced.
func (c *Catalog) Intended(k store.Key) bool {
	at, ok := c.Intents[k]
	delete(c.Intents, k)
	return ok && time.Since(at) <= IntentTime
}

// askedFor are deletions that users asked for by name, as the kube API recorded them: the UID of
// each object. A record ends by itself. The catalog's lock is held.
type askedFor struct {
	UIDs map[store.Key]string
	Keys map[string]store.Key // the other way round, by the record's name
}

// Outlived drops the record of an object whose name another one has by now.
func (a *askedFor) Outlived(k store.Key, uid string) {
	if was, ok := a.UIDs[k]; ok && was != uid {
		delete(a.UIDs, k)
		delete(a.Keys, was)
	}
}

// WasAsked reports whether a user has asked for the deletion of just this object, of its Namespace,
// or of the definition of its kind.
func (c *Catalog) WasAsked(o *Object) bool {
	if o.UID != "" && c.Asked.UIDs[o.Key()] == o.UID {
		return true
	}
	if n := o.Namespace.Self; n != nil && n.Deleting && c.Asked.UIDs[n.Key()] == n.UID {
		return true
	}
	return c.definitionAsked(o.Key())
}

// definitionAsked reports whether a user has asked for the deletion of the definition of a kind.
func (c *Catalog) definitionAsked(k store.Key) bool {
	definition := DefinitionKey(k.Space, k.Group, k.Resource)
	uid, asked := c.Asked.UIDs[definition]
	if !asked {
		return false
	}
	o := c.Find(definition)
	return o == nil || !o.Present || o.Deleting && o.UID == uid
}

// wasAskedKey is WasAsked for what the catalog does not have any more.
func (c *Catalog) wasAskedKey(k store.Key) bool {
	if _, ok := c.Asked.UIDs[k]; ok || c.definitionAsked(k) {
		return true
	}
	space := c.Spaces[k.Space]
	if k.Namespace == "" ||
		space != nil && space.Namespaces[k.Namespace] != nil && space.Namespaces[k.Namespace].Self != nil {
		return false
	}
	_, ok := c.Asked.UIDs[NamespaceKey(k.Space, k.Namespace)]
	return ok
}

// Intends reports whether a target that is told to delete an object need not ask: the object is
// placed elsewhere, somebody asked for its deletion, the target is being emptied, its definition
// says that it stays in the space, or it is a right that the site, or the admin, has taken back.
func (c *Catalog) Intends(t *Target, k store.Key) bool {
	c.RLock()
	defer c.RUnlock()
	o := c.Find(k)
	if o != nil && o.Present {
		return t.Emptied || o.On.Len() > 0 || o.Rights() || c.Stays(o) || o.Leaving && c.WasAsked(o)
	}
	return t.Emptied || o != nil && o.On.Len() > 0 || c.wasAskedKey(k)
}
