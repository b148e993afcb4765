package site

import (
	"strings"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// Definitions are the CustomResourceDefinitions that spaces have here. Spaces with equal ones share
// one: it is one space's, whose record says that it was created, until that gives it up.
type Definitions struct{ *inventory.Inventory }

// defined reports whether the definition of a kind came from a space.
func (d Definitions) defined(k store.Key) bool {
	if k.Group == "" {
		return false
	}
	name := policy.KindName(k.Group, k.Resource)
	own := store.Key{Space: k.Space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: name}
	if r, known := d.Get(own); known && r.Created && r.UID != "" {
		return true
	}
	return d.Any(func(other store.Key, r inventory.Record) bool {
		return other.Name == name && other.Class() == store.ClassCRD && r.Created && r.UID != ""
	})
}

// defineGroup reports whether the target serves a group by definitions that came from spaces.
func (d Definitions) defineGroup(group string) bool {
	return d.Any(func(k store.Key, r inventory.Record) bool {
		return k.Class() == store.ClassCRD && strings.HasSuffix(k.Name, "."+group) && r.Created
	})
}

// Sharing lists the definitions of other spaces that are one with this one.
func (d Definitions) Sharing(k store.Key) (others []store.Key) {
	d.Any(func(other store.Key, r inventory.Record) bool {
		if other.Name == k.Name && other.Space != k.Space && other.Class() == store.ClassCRD && !r.Created {
			others = append(others, other)
		}
		return false
	})
	return others
}

// Heir returns the key of another space that shares a definition with this one, which has a UID.
func (d Definitions) Heir(k store.Key, uid string) (heir store.Key, found bool) {
	found = k.Class() == store.ClassCRD && uid != "" &&
		d.Any(func(other store.Key, r inventory.Record) bool {
			heir = other
			return other.Name == k.Name && other.Space != k.Space && other.Class() == store.ClassCRD && r.UID == uid &&
				!r.Created
		})
	return heir, found
}
