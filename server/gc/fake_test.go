package gc

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// cluster is a kube API as far as the collector sees one: it hands every write to the collector, in
// order.
type cluster struct {
	t         *testing.T
	collector *Collector

	mu       sync.Mutex
	revision int64
	objects  map[store.Key]map[string]any
	deletes  []string
	lives    int
	hidden   map[string]bool // kinds that are not served
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, objects: map[store.Key]map[string]any{}, hidden: map[string]bool{}}
}

// key names an object of kind Thing: "space/namespace/name".
func key(space, name string) store.Key {
	return store.Key{Space: space, Group: "example.com", Resource: "things", Namespace: "default", Name: name}
}

func (c *cluster) write(k store.Key, obj map[string]any) {
	c.revision++
	if obj != nil {
		obj["metadata"].(map[string]any)["resourceVersion"] = strconv.FormatInt(c.revision, 10)
		c.objects[k] = obj
	} else {
		delete(c.objects, k)
	}
	if c.collector != nil {
		c.collector.Apply(
			store.Write{
				Key:        k,
				APIVersion: "example.com/v1",
				Kind:       "Thing",
				Revision:   c.revision,
				Object:     spaceapitest.Clone(obj),
			},
		)
	}
}

// put makes an object that is owned by others of its space; a name with '!' is an owner that it
// blocks.
func (c *cluster) put(space, name string, owners ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refs []any
	for _, o := range owners {
		blocks := o[len(o)-1] == '!'
		if blocks {
			o = o[:len(o)-1]
		}
		refs = append(
			refs,
			map[string]any{
				"apiVersion":         "example.com/v1",
				"kind":               "Thing",
				"name":               o,
				"uid":                space + "-" + o,
				"blockOwnerDeletion": blocks,
			},
		)
	}
	meta := map[string]any{"name": name, "namespace": "default", "uid": space + "-" + name}
	if refs != nil {
		meta["ownerReferences"] = refs
	}
	c.write(key(space, name), map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta})
}

// mark makes an object a mirror of what a target reported.
func (c *cluster) mark(space, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := spaceapitest.Clone(c.objects[key(space, name)])
	obj["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.AnnotationReportedFrom: "site"}
	c.write(key(space, name), obj)
}

// markOwned makes an object such a mirror that has owners in the space.
func (c *cluster) markOwned(space, name string) {
	c.mark(space, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := spaceapitest.Clone(c.objects[key(space, name)])
	obj["metadata"].(map[string]any)["annotations"].(map[string]any)[v1alpha1.AnnotationSpaceOwners] = "one"
	c.write(key(space, name), obj)
}

// remove is a user's deletion. It returns whether there was such an object.
func (c *cluster) remove(space, name, policy string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key(space, name)
	if c.objects[k] == nil {
		return false
	}
	c.delete(k, policy)
	return true
}

func (c *cluster) delete(k store.Key, policy string) {
	obj := spaceapitest.Clone(c.objects[k])
	meta := obj["metadata"].(map[string]any)
	finalizers, _ := meta["finalizers"].([]any)
	switch policy {
	case "Orphan":
		finalizers = append(finalizers, finalizerOrphan)
	case "Foreground":
		finalizers = append(finalizers, finalizerForeground)
	}
	if len(finalizers) == 0 {
		c.write(k, nil)
		return
	}
	meta["finalizers"], meta["deletionTimestamp"] = finalizers, "2026-01-01T00:00:00Z"
	c.write(k, obj)
}

// names are the names of a space's objects, each followed by its owners.
func (c *cluster) names(space string) map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string][]string{}
	for k, obj := range c.objects {
		if k.Space == space {
			owners := []string{}
			for _, o := range metaOf(obj).owners {
				owners = append(owners, o.name)
			}
			out[k.Name] = owners
		}
	}
	return out
}

func (c *cluster) all() iter.Seq[store.Write] {
	return func(yield func(store.Write) bool) {
		for _, k := range slices.SortedFunc(
			maps.Keys(c.objects),
			func(a, b store.Key) int { return len(a.Name) - len(b.Name) },
		) {
			if !yield(
				store.Write{
					Key:        k,
					APIVersion: "example.com/v1",
					Kind:       "Thing",
					Revision:   c.revision,
					Object:     spaceapitest.Clone(c.objects[k]),
				},
			) {
				return
			}
		}
	}
}

func (c *cluster) Live(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lives++
	if obj := c.objects[k]; obj != nil {
		return spaceapitest.Clone(obj), nil
	}
	return nil, spaceapitest.NotFound(k)
}

func (c *cluster) Resolve(_ context.Context, _ string, gv schema.GroupVersion, kind string) (string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hidden[kind] {
		return "", false, fmt.Errorf("%s %s is not served", gv, kind)
	}
	return "things", true, nil
}

func (c *cluster) Patch(_ context.Context, k store.Key, _, _ string, patch []byte) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := spaceapitest.Clone(c.objects[k])
	if obj == nil {
		return nil, spaceapitest.NotFound(k)
	}
	var p struct{ Metadata map[string]any }
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	meta := obj["metadata"].(map[string]any)
	if p.Metadata["uid"] != meta["uid"] || p.Metadata["resourceVersion"] != meta["resourceVersion"] {
		return nil, spaceapitest.Conflict(k)
	}
	for _, field := range []string{"ownerReferences", "finalizers"} {
		if v, ok := p.Metadata[field]; ok {
			meta[field] = v
		}
	}
	if finalizers, _ := meta["finalizers"].([]any); len(finalizers) == 0 && meta["deletionTimestamp"] != nil {
		c.write(k, nil)
	} else {
		c.write(k, obj)
	}
	return obj, nil
}

func (c *cluster) Remove(_ context.Context, k store.Key, _, uid, version, policy string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := c.objects[k]
	if obj == nil {
		return spaceapitest.NotFound(k)
	}
	if m := metaOf(obj); m.uid != uid || m.version != version {
		return spaceapitest.Conflict(k)
	}
	c.deletes = append(c.deletes, k.Name+" "+policy)
	c.delete(k, policy)
	return nil
}
