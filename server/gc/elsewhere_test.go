package gc

import (
	"testing"

	"skerry.dev/skerry/store"
)

// elsewhere makes an object in a namespace of space a that names an owner by UID and name. Something else holds it.
func (c *cluster) elsewhere(namespace, name, owner, uid string, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	meta := map[string]any{"name": name, "namespace": namespace, "uid": "a-" + name, "ownerReferences": []any{
		map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "name": owner, "uid": uid, "blockOwnerDeletion": true}}}
	if held {
		meta["finalizers"] = []any{"example.com/hold"}
	}
	k := key("a", name)
	k.Namespace = namespace
	c.write(k, map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta})
}

// TestAReferenceToAnotherNamespace: an object that names an owner of another namespace, or names it wrongly, has
// none there. What it says of that owner is true of nobody else: whom the owner really has stays.
func TestAReferenceToAnotherNamespace(t *testing.T) {
	app := func(c *cluster) { c.put("a", "app") }
	child := func(c *cluster) { c.put("a", "set", "app") }
	there := func(c *cluster) { c.elsewhere("other", "stray", "app", "a-app", true) }
	misnamed := func(c *cluster) { c.elsewhere("default", "stray", "wrong", "a-app", true) }
	free := func(c *cluster) { c.elsewhere("other", "stray", "app", "a-app", false) }
	all := func(of ...func(*cluster)) func(*cluster) {
		return func(c *cluster) {
			for _, f := range of {
				f(c)
			}
		}
	}
	namesake := func(c *cluster) { // another object where the reference looks
		c.mu.Lock()
		defer c.mu.Unlock()
		k := store.Key{Space: "a", Group: "example.com", Resource: "things", Namespace: "other", Name: "app"}
		c.write(k, map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{
			"name": "app", "namespace": "other", "uid": "another"}})
	}
	for name, tc := range map[string]struct {
		before, do func(c *cluster)
		want       string
	}{
		"before the child":            {all(app, there), child, "app set<app stray<app"},
		"after the child":             {all(app, child), there, "app set<app stray<app"},
		"before the start":            {all(app, there, child), nil, "app set<app stray<app"},
		"one that nothing holds":      {all(app, free), child, "app set<app"},
		"the child first":             {all(app, child), free, "app set<app"},
		"where it has a namesake":     {all(app, there), all(namesake, child), "app set<app stray<app"},
		"a namesake first":            {all(app, namesake, there), child, "app set<app stray<app"},
		"by a wrong name":             {all(app, misnamed), child, "app set<app stray<wrong"},
		"the owner goes":              {all(app, there, child), func(c *cluster) { c.remove("a", "app", "Background") }, "stray<app"},
		"the owner waits for it not":  {all(app, there), func(c *cluster) { c.remove("a", "app", "Foreground") }, "stray<app"},
		"the owner goes after a name": {all(app, misnamed, child), func(c *cluster) { c.remove("a", "app", "Background") }, "stray<wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			collecting(t, tc.before, tc.do, func(t *testing.T, c *cluster) {
				if got := show(c, "a"); got != tc.want {
					t.Errorf("left: %s\nwant: %s", got, tc.want)
				}
			})
		})
	}
}
