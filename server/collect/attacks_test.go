package collect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// slow is an expression that takes about 0.1 s for a report before its cost is at the limit.
const slow = "[1,2,3,4,5].exists(x, obj.metadata.annotations.text.matches('(.{99}){9}1') && x > 9)"

// TestASpaceDoesNotTakeAllWorkers: one space has collectors and reports that keep workers busy, and
// another one gets its results before the first of these is done. It needs the real clock: a turn ends by
// the time that evaluation takes.
func TestASpaceDoesNotTakeAllWorkers(t *testing.T) {
	c := newCenter(t, "paris")
	c.place("web", "", "paris")
	report := func(space, name, text string) {
		k := store.Key{Space: space, Resource: "pods", Namespace: "app", Name: name}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name,
			"annotations": map[string]any{"text": text}, "ownerReferences": []any{map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}})
		if err != nil {
			t.Fatal(err)
		}
		c.says("paris", k, &store.Report{OriginUID: "uid-web", Object: body})
	}
	at := store.Key{Space: "greedy", Group: "apps", Resource: "deployments", Namespace: "app", Name: "web"}
	c.placed[at] = placement.Located{Key: at, UID: "uid-web", Targets: []string{"paris"}}
	for i := range 60 {
		report("greedy", fmt.Sprint("p", i), strings.Repeat("a", 8000))
	}
	report("shop", "p", "")
	spec := func(def string) map[string]any {
		return map[string]any{"scope": map[string]any{"resource": "pods", "ownedBy": "Placed"},
			"combinedFields": []any{map[string]any{"name": "n", "type": "SUM", "subject": def}}}
	}
	greedy := func(resource, name string) store.Key {
		k := ours(resource, name)
		k.Space = "greedy"
		return k
	}
	for i := range 4 {
		name := fmt.Sprint("c", i)
		c.Put(greedy("statuscollectors", name), object("StatusCollector", name, nil, "spec", spec(slow+" ? 1 : 0")))
	}
	c.start()
	c.Put(ours("statuscollectors", "mine"), object("StatusCollector", "mine", nil, "spec", spec("1")))
	c.rows("mine", "mine", []string{"1"})
	for i := range 4 {
		if c.written(greedy("combinedstatuses", fmt.Sprint("c", i))) > 0 {
			t.Errorf("collector %d of the other space was done first", i)
		}
	}
}

// TestWhatACollectorDoesNotSee: a Secret's annotation of kubectl has its data.
func TestWhatACollectorDoesNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t, "paris")
		c.place("web", "", "paris")
		k := store.Key{Space: "shop", Resource: "pods", Namespace: "app", Name: "p"}
		c.says("paris", k, &store.Report{OriginUID: "uid-web", Object: json.RawMessage(`{"metadata":{"name":"p",
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"canary","a":"b"},
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}]}}`)})
		c.Put(ours("statuscollectors", "notes"), object("StatusCollector", "notes", nil, "spec", map[string]any{
			"scope":  map[string]any{"resource": "pods", "ownedBy": "Placed"},
			"select": []any{map[string]any{"name": "all", "def": "obj.metadata.annotations.map(k, k + obj.metadata.annotations[k]).join()"}}}))
		c.start()
		o := c.rows("notes", "notes", []string{"ab"})
		if text := fmt.Sprint(fields.List(o, "results")); strings.Contains(text, "canary") {
			t.Error(text)
		}
	})
}

// TestCostlyCollectors: expressions that take the memory or the time of the center.
func TestCostlyCollectors(t *testing.T) {
	for _, text := range []string{
		"string(obj.spec.x).replace('a', string(obj.spec.x)).size()",
		"obj.spec.x.replace('a', obj.spec.y).size()",
		"'%.999999f'.format([1.0]).size()",
		"[obj.spec.x].map(s, '%s%s%s%s%s%s'.format([s,s,s,s,s,s])).map(s, '%s%s%s%s%s%s'.format([s,s,s,s,s,s]))[0].size()",
		"sets.contains(obj.spec.l, obj.spec.l) ? 1 : 0", "obj.spec.l.distinct().size()",
		"obj.spec.l.map(i, obj.spec.x).join(obj.spec.x).size()", "lists.range(int(obj.spec.n)).size()",
	} {
		for _, spec := range []v1alpha1.StatusCollectorSpec{
			{CombinedFields: []v1alpha1.CombinedField{{Name: "a", Type: v1alpha1.CombineSum, Subject: text}}},
			{Filter: text + " == 1"}, {GroupBy: []v1alpha1.NamedExpression{{Name: "a", Def: text}}},
			{Select: []v1alpha1.NamedExpression{{Name: "a", Def: text}}},
		} {
			if _, err := compile(spec); err == nil {
				t.Errorf("%+v is compiled", spec)
			}
		}
	}
	// What is compared is paid for, however deep it is.
	many := map[string]any{}
	for i := range 20000 {
		many[fmt.Sprint(i)] = int64(i)
	}
	p, err := compile(v1alpha1.StatusCollectorSpec{Filter: "[1,2,3,4].all(a, [1,2,3,4].all(b, obj.spec == obj.spec))"})
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{"spec": map[string]any{"a": map[string]any{"b": many}}}
	if c := p.evaluate(obj, map[string]any{}); c == nil || !strings.Contains(c.failed, "cost limit") {
		t.Errorf("%+v", c)
	}
}
