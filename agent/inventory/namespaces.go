package inventory

import (
	"slices"

	"skerry.dev/skerry/store"
)

// NamespaceKey is the key of a space's Namespace.
func NamespaceKey(space, name string) store.Key {
	return store.Key{Space: space, Resource: "namespaces", Name: name}
}

// Prefix returns what a space's namespace has before its name on the target. It tells false while
// the target does not have the namespace for the space: nothing of the space is in it.
func (i *Inventory) Prefix(space, namespace string) (string, bool) {
	r, known := i.Get(NamespaceKey(space, namespace))
	return r.Prefix, known && r.UID != ""
}

// There returns the name that a space's namespace has on the target.
func (i *Inventory) There(space, namespace string) string {
	prefix, _ := i.Prefix(space, namespace)
	return prefix + namespace
}

// Namespaces returns the names of the namespaces that the target has for a space, in order.
func (i *Inventory) Namespaces(space string) (names []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for e := range i.records.All() {
		if e.key.Space == space && e.key.Class() == store.ClassNamespace && e.record.UID != "" {
			names = append(names, e.key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// NamespacesThere returns the names on the target of the namespaces that it has for any space.
func (i *Inventory) NamespacesThere() (names []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for e := range i.records.All() {
		if e.key.Class() == store.ClassNamespace && e.record.UID != "" {
			names = append(names, e.record.Prefix+e.key.Name)
		}
	}
	return names
}
