package registrykey

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
)

// Prefix stands before every key of an API object.
const Prefix = "/registry"

// OwnSpace is where the center's own definitions are stored: a name that no space can have.
const OwnSpace = "skerry.dev"

// Parse returns the object that a storage key names; native has the prefixes of built-in kinds.
// Keys of built-in kinds begin with a prefix of one or two parts that upstream chose. Keys of
// custom resources begin with group/resource, and a custom group always has a dot. Parse returns
// false for a key that names no object of a space.
func Parse(native map[string]schema.GroupResource, key string) (store.Key, bool) {
	rest, ok := strings.CutPrefix(key, Prefix+"/")
	if !ok {
		return store.Key{}, false
	}
	parts := strings.Split(rest, "/")
	gr, ok := native[parts[0]]
	used := 1
	if !ok && len(parts) > 1 {
		used = 2
		if gr, ok = native[parts[0]+"/"+parts[1]]; !ok && strings.Contains(parts[0], ".") {
			gr, ok = schema.GroupResource{Group: parts[0], Resource: parts[1]}, true
		}
	}
	if !ok {
		return store.Key{}, false
	}
	k := store.Key{Group: gr.Group, Resource: gr.Resource}
	switch parts = parts[used:]; len(parts) {
	case 2:
		k.Space, k.Name = parts[0], parts[1]
	case 3:
		k.Space, k.Namespace, k.Name = parts[0], parts[1], parts[2]
	default:
		return store.Key{}, false
	}
	return k, k.Space != OwnSpace && k.Validate() == nil
}
