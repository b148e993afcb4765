package observe

import "skerry.dev/skerry/store"

// Placed reports whether the target has a Pod of this key's name whose UID this is, and which
// belongs to an object that was placed there from the key's space.
func (o *Observer) Placed(k store.Key, uid string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rec, ok := o.associated.Find(uid); ok {
		return rec.key == k
	}
	known, ok := o.Inventory.ByUID(uid)
	return ok && known == k && k.Resource == podResource.plural && k.Group == podResource.group
}

// Delivered returns the UID of a Pod that was itself placed, and whose source has the UID origin;
// empty where there is none.
func (o *Observer) Delivered(k store.Key, origin string) string {
	if rec, ok := o.Inventory.Get(k); ok && rec.OriginUID == origin {
		return rec.UID
	}
	return ""
}

// Owns reports whether the target has an object of this UID that was placed there, or that belongs to
// one that was.
func (o *Observer) Owns(uid string) bool {
	o.mu.Lock()
	_, ok := o.associated.Find(uid)
	o.mu.Unlock()
	if !ok {
		_, ok = o.Inventory.ByUID(uid)
	}
	return ok
}
