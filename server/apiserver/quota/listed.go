package quota

import (
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// collection is a resource of a space that has no cache: a list of it decodes all that is stored.
type collection struct{ space, group, resource string }

// listed is what a collection has.
type listed struct{ objects, bytes int64 }

// hasNoCache reports whether objects are custom resources or Events.
func hasNoCache(group, resource string) bool {
	if resource == "events" {
		return true
	}
	return group != v1alpha1.GroupVersion.Group && !legacyscheme.Scheme.IsGroupRegistered(group)
}

// list counts an object of a collection, or one that is larger or smaller than before.
func (u *Usage) list(k store.Key, objects, bytes int64) {
	if !hasNoCache(k.Group, k.Resource) {
		return
	}
	c := collection{k.Space, k.Group, k.Resource}
	l := u.listed[c]
	l.objects += objects
	l.bytes += bytes
	if l.objects == 0 {
		delete(u.listed, c)
		return
	}
	u.listed[c] = l
}

// Listed returns how many objects a list of a resource decodes, and of how many bytes: none where a
// cache answers. Events are one resource in both of their groups.
func (u *Usage) Listed(space, group, resource string) (objects, bytes int64) {
	if resource == "events" {
		group = ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.listed[collection{space, group, resource}]
	return l.objects, l.bytes
}
