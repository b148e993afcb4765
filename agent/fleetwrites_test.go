package agent

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	writesMoved  = 1000 // objects of the Namespace that moves
	writesChosen = 5000 // objects that a new Placement selects
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// writes counts what the center writes to its store after each kind of change of a user.
func (l *load) writes() {
	one, two := l.agents[0], l.agents[1]
	l.create(namespaces, "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "moved", "labels": map[string]any{"skerry.dev/target": one.name}}})
	l.maps("moved", 0, 1)
	count := func(what, kind string, goal float64, changes, objects int, do func()) {
		l.t.Helper()
		l.rest()
		before, began := l.revision("load"), time.Now()
		do()
		l.rest()
		l.center.wrote(before).without(kind, changes).say("writes-"+what, goal, changes, objects, time.Since(began))
	}
	count("create", "configmaps", 0, writesMoved-1, writesMoved-1, func() { l.maps("moved", 1, writesMoved) })
	count("label", "configmaps", 4, 1, 1, func() {
		l.label(configMaps, "moved", "many-0", two.name)
		l.has(two, "moved", 1)
	})
	l.label(configMaps, "moved", "many-0", "")
	l.has(two, "moved", 0)
	count("move", "namespaces", 2, 1, writesMoved, func() {
		l.label(namespaces, "", "moved", two.name)
		l.has(two, "moved", writesMoved)
		l.has(one, "moved", 0)
	})
	l.maps("moved", writesMoved, writesChosen)
	l.has(two, "moved", writesChosen)
	count("placement", "placements", 6, 1, writesChosen, func() {
		l.create(placements, "", map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
			"metadata": map[string]any{"name": "moved"}, "spec": map[string]any{
				"objects": []any{map[string]any{"namespaces": []any{"moved"}}},
				"targets": map[string]any{"names": []any{one.name}}}})
		l.has(one, "moved", writesChosen)
		l.has(two, "moved", 0)
	})
}

// maps creates ConfigMaps in a Namespace, from one number up to another.
func (l *load) maps(namespace string, from, to int) {
	l.t.Helper()
	each(to-from, func(i int) {
		l.create(configMaps, namespace, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": fmt.Sprint("many-", from+i)}, "data": map[string]any{"v": "x"}})
	})
}

// label sets the target of an object, or takes it off.
func (l *load) label(r schema.GroupVersionResource, namespace, name, target string) {
	l.t.Helper()
	patch := `{"metadata":{"labels":{"skerry.dev/target":null}}}`
	if target != "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{"skerry.dev/target":%q}}}`, target)
	}
	client := l.client("load").Resource(r)
	var err error
	if namespace != "" {
		_, err = client.Namespace(namespace).Patch(l.ctx, name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
	} else {
		_, err = client.Patch(l.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// has waits until an agent has so many ConfigMaps of a Namespace.
func (l *load) has(a *fleetAgent, namespace string, want int) {
	l.t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		n := 0
		a.mu.Lock()
		for k := range a.reports {
			if k.Resource == "configmaps" && k.Namespace == namespace && strings.HasPrefix(k.Name, "many-") {
				n++
			}
		}
		a.mu.Unlock()
		if n == want {
			return
		}
		if time.Since(began) > 3*time.Minute {
			l.t.Fatalf("%s has %d objects of %s and not %d", a.name, n, namespace, want)
		}
	}
}

// rest waits until nothing has been written for some seconds.
func (l *load) rest() {
	l.t.Helper()
	began, since, last := time.Now(), time.Now(), l.revision("load")
	for time.Since(since) < 5*time.Second {
		time.Sleep(200 * time.Millisecond)
		if now := l.revision("load"); now != last {
			last, since = now, time.Now()
		}
		if time.Since(began) > 5*time.Minute {
			l.t.Fatal("the center does not come to rest")
		}
	}
}
