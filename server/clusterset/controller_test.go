package clusterset

import (
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is a store whose writes reach the Controller.
type world struct {
	*spaceapitest.Center
	t *testing.T
	c *Controller
}

func newWorld(t *testing.T) *world {
	c := &world{Center: spaceapitest.NewCenter(), t: t}
	c.c = New(Config{API: c, Log: slog.New(slog.DiscardHandler)})
	return c
}

// run begins the Controller over what is stored, as another one than before.
func (c *world) run() {
	c.Mu.Lock()
	c.c.Reset(c.Revision, c.Listing())
	c.Apply = c.c.Apply
	c.Mu.Unlock()
	spaceapitest.Run(c.t, c.c.Run)
}

func (c *world) space(name, set string) {
	c.Put(store.Key{Space: "root", Group: "skerry.dev", Resource: "spaces", Name: name},
		map[string]any{"metadata": map[string]any{"name": name, "uid": name}, "spec": map[string]any{"clusterSet": set}})
}

func (c *world) namespace(space string) {
	c.Put(store.Key{Space: space, Resource: "namespaces", Name: "app"},
		map[string]any{"metadata": map[string]any{"name": "app"}})
}

func serviceKey(space, name string) store.Key {
	return store.Key{Space: space, Resource: "services", Namespace: "app", Name: name}
}

func exportKey(space, name string) store.Key {
	return store.Key{Space: space, Group: "multicluster.x-k8s.io", Resource: "serviceexports", Namespace: "app", Name: name}
}

func importKey(space string) store.Key {
	return store.Key{Space: space, Group: "multicluster.x-k8s.io", Resource: "serviceimports", Namespace: "app", Name: "web"}
}

func (c *world) service(space, ports string) {
	o := service(c.t, "{selector: {app: web}, ports: ["+ports+"]}")
	o["metadata"] = map[string]any{"name": "web", "namespace": "app", "uid": "of-" + space}
	c.Put(serviceKey(space, "web"), o)
}

func (c *world) export(space, since string) {
	c.Put(exportKey(space, "web"), map[string]any{"metadata": map[string]any{"name": "web", "namespace": "app",
		"creationTimestamp": since}})
}

// shows are the conditions of an export that are True, and their reasons.
func (c *world) shows(space string) map[string]string {
	out := map[string]string{}
	for cond := range fields.Maps(c.Object(exportKey(space, "web")), "status", "conditions") {
		out[fields.String(cond, "type")] = fields.String(cond, "status") + " " + fields.String(cond, "reason")
	}
	return out
}

// imports are the spaces that have the import, with the ports of it and of its Service.
func (c *world) imports() map[string]string {
	out := map[string]string{}
	for _, space := range []string{"shop", "desk", "late", "other"} {
		if is := c.Object(importKey(space)); is != nil {
			serves := c.Object(serviceKey(space, v1alpha1.ServiceOfImport("web")))
			out[space] = fmt.Sprint(numbers(is), numbers(serves))
		}
	}
	return out
}

func numbers(o map[string]any) (out []int64) {
	for p := range fields.Maps(o, "spec", "ports") {
		n, _ := fields.Number(p["port"])
		out = append(out, n)
	}
	return out
}

// leads are the spaces that the import of one leads to.
func (c *world) leads(space string) (out []string) {
	_, all, _ := c.c.Imports(serviceKey(space, v1alpha1.ServiceOfImport("web")))
	for _, o := range all {
		out = append(out, o.Key.Space+" "+o.UID)
	}
	return out
}

func (c *world) expect(what string, got, want any) {
	c.t.Helper()
	if !reflect.DeepEqual(got, want) {
		c.t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// collect does what the garbage collector does once an import is gone.
func (c *world) collect() {
	c.Mu.Lock()
	keys := slices.Collect(maps.Keys(c.Objects))
	c.Mu.Unlock()
	for _, k := range keys {
		if k.Name == v1alpha1.ServiceOfImport("web") && c.Object(importKey(k.Space)) == nil {
			c.Put(k, nil)
		}
	}
}

func TestSpacesOfASetImportWhatOneExports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		for space, set := range map[string]string{"shop": "prod", "desk": "prod", "late": "", "other": "test"} {
			c.space(space, set)
			c.namespace(space)
		}
		c.run()
		synctest.Wait()
		for space, want := range map[string]int{"shop": 2, "desk": 2, "late": 0, "other": 2} {
			n := 0
			for k := range c.Objects {
				if k.Space == space && k.Resource == "customresourcedefinitions" {
					n++
				}
			}
			c.expect("definitions of "+space, n, want)
		}

		c.export("shop", "2026-01-01T00:00:00Z") // before there is a Service
		settle()
		c.expect("without a Service", c.shows("shop"), map[string]string{"Valid": "False NoService", "Ready": "False Failed",
			"Conflict": "False NoConflicts"})
		c.service("shop", "{port: 80}")
		settle()
		c.expect("exported", c.shows("shop"), map[string]string{"Valid": "True Valid", "Ready": "True Exported",
			"Conflict": "False NoConflicts"})
		c.expect("imports", c.imports(), map[string]string{"shop": "[80] [80]", "desk": "[80] [80]"})
		c.expect("leads", c.leads("desk"), []string{"shop of-shop"})
		c.expect("leads from outside", c.leads("other"), []string(nil))
		serves := c.Object(serviceKey("desk", v1alpha1.ServiceOfImport("web")))
		c.expect("members", fields.String(serves, "metadata", "annotations", "skerry.dev/members"), "desk,shop")
		exporters := func() string {
			serves := c.Object(serviceKey("desk", v1alpha1.ServiceOfImport("web")))
			return fields.String(serves, "metadata", "annotations", "skerry.dev/exporters")
		}
		c.expect("exporters", exporters(), "shop")

		c.service("shop", "{name: a, port: 80}, {name: b, port: 81}")
		c.space("late", "prod")
		settle()
		c.expect("changed", c.imports(), map[string]string{"shop": "[80 81] [80 81]", "desk": "[80 81] [80 81]",
			"late": "[80 81] [80 81]"})

		c.service("desk", "{name: a, port: 90}")
		c.export("desk", "2026-01-02T00:00:00Z")
		settle()
		c.expect("contradicts", c.shows("desk"), map[string]string{"Valid": "True Valid", "Ready": "True Exported",
			"Conflict": "True PortConflict"})
		c.expect("leads to both", c.leads("late"), []string{"shop of-shop", "desk of-desk"})
		c.expect("both export", exporters(), "desk,shop")

		c.Put(exportKey("shop", "web"), nil)
		settle()
		c.expect("the one that is left counts", c.imports(), map[string]string{"shop": "[90] [90]", "desk": "[90] [90]",
			"late": "[90] [90]"})
		c.expect("one exports", exporters(), "desk")

		c.space("desk", "")
		settle()
		c.collect()
		settle()
		c.expect("left the set", c.imports(), map[string]string{})
		c.expect("leads nowhere", c.leads("late"), []string(nil))
		c.expect("its export says so", c.shows("desk"), map[string]string{"Valid": "False NoClusterSet",
			"Ready": "False Failed", "Conflict": "False NoConflicts"})
		c.space("desk", "prod")
		settle()
		c.expect("it is back", c.shows("desk"), map[string]string{"Valid": "True Valid", "Ready": "True Exported",
			"Conflict": "False NoConflicts"})
	})
}

// What people change in an import comes back, what is their own stays, and a Controller that starts writes nothing.
func TestImportsStayAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "prod")
		c.space("desk", "prod")
		c.namespace("shop")
		c.service("shop", "{port: 80}")
		c.export("shop", "2026-01-01T00:00:00Z")
		own := map[string]any{"metadata": map[string]any{"name": "web", "namespace": "app"}, "spec": map[string]any{}}
		c.Put(importKey("desk"), own)
		c.run()
		settle()
		c.expect("no Namespace", c.imports(), map[string]string{"shop": "[80] [80]", "desk": "[] []"})
		c.namespace("desk")
		settle()
		c.expect("an import of its own", c.imports(), map[string]string{"shop": "[80] [80]", "desk": "[] []"})
		c.Put(importKey("desk"), nil)
		settle()
		c.expect("it has gone", c.imports(), map[string]string{"shop": "[80] [80]", "desk": "[80] [80]"})

		for _, k := range []store.Key{importKey("desk"), serviceKey("desk", v1alpha1.ServiceOfImport("web"))} {
			o := c.Object(k)
			fields.Map(o, "spec")["ports"] = []any{map[string]any{"port": 99}}
			c.Put(k, o)
			settle()
			c.expect("changed", c.imports()["desk"], "[80] [80]")
			c.Put(k, nil)
			settle()
			c.expect("deleted", c.imports()["desk"], "[80] [80]")
		}
		c.Mu.Lock()
		clear(c.Writes)
		c.Mu.Unlock()
		c.c = New(Config{API: c, Log: slog.New(slog.DiscardHandler)})
		c.run()
		settle()
		c.expect("writes of another leader", len(c.Writes), 0)
		c.expect("leads", c.leads("desk"), []string{"shop of-shop"})
	})
}

// What an export says of labels and annotations its imports have, as long as it does. Those of others stay.
func TestImportsHaveTheWordsOfTheirExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "prod")
		c.space("desk", "prod")
		c.namespace("shop")
		c.namespace("desk")
		c.service("shop", "{port: 80}")
		says := func(labels, annotations map[string]any) {
			c.Put(exportKey("shop", "web"), map[string]any{"metadata": map[string]any{"name": "web", "namespace": "app",
				"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": map[string]any{"exportedLabels": labels,
				"exportedAnnotations": annotations}})
			settle()
		}
		has := func(what string, want map[string]any) {
			t.Helper()
			got := map[string]any{}
			for _, field := range []string{"labels", "annotations"} {
				for key, value := range fields.Map(c.Object(importKey("desk")), "metadata", field) {
					if key != managedBy && key != v1alpha1.AnnotationExported {
						got[key] = value
					}
				}
			}
			c.expect(what, got, want)
		}
		c.run()
		says(map[string]any{"team": "a", "tier": "b"}, map[string]any{"note": "x"})
		has("made", map[string]any{"team": "a", "tier": "b", "note": "x"})
		o := c.Object(importKey("desk"))
		fields.Map(o, "metadata", "labels")["own"] = "1"
		fields.Map(o, "metadata", "labels")["team"] = "other"
		c.Put(importKey("desk"), o)
		settle()
		has("changed by others", map[string]any{"team": "a", "tier": "b", "note": "x", "own": "1"})
		says(map[string]any{"team": "c"}, nil)
		has("fewer", map[string]any{"team": "c", "own": "1"})
		says(nil, nil)
		has("none", map[string]any{"own": "1"})
		left := fields.Map(c.Object(importKey("desk")), "metadata", "annotations")
		c.expect("nothing is left of them", left, map[string]any{})
	})
}

// Whether callers come back follows what is exported, in the import and in its Service.
func TestAffinityIsImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t)
		c.space("shop", "prod")
		c.namespace("shop")
		c.export("shop", "2026-01-01T00:00:00Z")
		c.run()
		for _, affinity := range []any{"None", "ClientIP", "None"} {
			o := service(t, "{selector: {app: web}, ports: [{port: 80}]}")
			o["metadata"] = map[string]any{"name": "web", "namespace": "app", "uid": "u"}
			o["spec"].(map[string]any)["sessionAffinity"] = affinity
			c.Put(serviceKey("shop", "web"), o)
			settle()
			for _, k := range []store.Key{importKey("shop"), serviceKey("shop", v1alpha1.ServiceOfImport("web"))} {
				spec := fields.Map(c.Object(k), "spec")
				if _, configured := spec["sessionAffinityConfig"]; spec["sessionAffinity"] != affinity ||
					configured != (affinity == "ClientIP") {
					t.Errorf("%s: %s is %v", affinity, k, spec)
				}
			}
		}
	})
}

// A space exports so many Services, and another one when one goes.
func TestASpaceExportsSoMany(t *testing.T) {
	c := newWorld(t)
	defer c.c.queue.ShutDown()
	for i := range mostExports + 1 {
		c.c.Apply(store.Write{Key: exportKey("shop", fmt.Sprint("s", 1000+i)), Object: map[string]any{
			"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"}}})
	}
	over := func() (n int) {
		for i := range mostExports + 1 {
			if c.c.ages["shop"].over(aged{"2026-01-01T00:00:00Z", name{"app", fmt.Sprint("s", 1000+i)}}) {
				n++
			}
		}
		return n
	}
	c.expect("over", over(), 1)
	for c.c.queue.Len() > 0 {
		i, _ := c.c.queue.Get()
		c.c.queue.Done(i)
	}
	c.c.Apply(store.Write{Key: exportKey("shop", "s1000")})
	c.expect("over", over(), 0)
	c.expect("looked at again", c.c.queue.Len(), 2) // it, and the one that counts now
	c.c.Apply(store.Write{Key: exportKey("shop", "s1001"), Object: map[string]any{
		"metadata": map[string]any{"creationTimestamp": "2026-01-02T00:00:00Z"}}}) // made again
	c.expect("made again", c.c.ages["shop"][mostExports-1], aged{"2026-01-02T00:00:00Z", name{"app", "s1001"}})
	for i := range mostExports + 1 {
		c.c.Apply(store.Write{Key: exportKey("shop", fmt.Sprint("s", 1000+i))})
	}
	c.expect("remembered", len(c.c.ages), 0)
}
