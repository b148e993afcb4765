package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	loadObjects = 1000 // to all agents
)

// TestFleetLoad measures a center with SKERRY_FLEET_LOAD agents of this process: 1,000 objects to all of
// them, and 1,000 reports a second from them. It is part of make bench FIGURE=placement.
func TestFleetLoad(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SKERRY_FLEET_LOAD"))
	if n <= 0 {
		t.Skip("SKERRY_FLEET_LOAD=100 SKERRY_BIN=bin/skerry: make bench FIGURE=placement")
	}
	f := newFleet(t, n, startCenterProcess(t))
	f.join(f.agents)
	f.start(f.agents)
	f.allBack(f.agents, time.Now(), patience(n))
	l := &load{fleet: f, ctx: t.Context()}
	l.everywhere()
	l.objects()
	l.reports("placement")
	l.writes()
}

type load struct {
	*fleet
	ctx context.Context
}

// revision is that of the center's store, which rises by one with each write.
func (f *fleet) revision(space string) int64 {
	f.t.Helper()
	list, err := f.client(space).Resource(configMaps).Namespace("default").List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	revision, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
	if err != nil {
		f.t.Fatal(err)
	}
	return revision
}

func (l *load) create(r schema.GroupVersionResource, namespace string, o map[string]any) {
	l.t.Helper()
	client := l.client("load").Resource(r)
	var err error
	if u := (&unstructured.Unstructured{Object: o}); namespace != "" {
		_, err = client.Namespace(namespace).Create(l.ctx, u, metav1.CreateOptions{})
	} else {
		_, err = client.Create(l.ctx, u, metav1.CreateOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// each runs a function for 0 to n-1, eight at a time.
func each(n int, do func(i int)) {
	work := make(chan int)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := range work {
				do(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	running.Wait()
}

// everywhere makes the space of the load, whose objects in the Namespace default are placed on all agents.
func (l *load) everywhere() {
	l.t.Helper()
	if out, err := exec.Command(os.Getenv("SKERRY_BIN"), "space", "create", "load", "--kubeconfig",
		l.center.kubeconfig).CombinedOutput(); err != nil {
		l.t.Fatalf("create a space: %v\n%s", err, out)
	}
	l.create(placements, "", map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
		"metadata": map[string]any{"name": "everywhere"}, "spec": map[string]any{
			"objects": []any{map[string]any{"namespaces": []any{"default"}}},
			"targets": map[string]any{"selectors": []any{map[string]any{}}}}})
}

// objects are written, and placed on all agents.
func (l *load) objects() {
	maps := l.client("load").Resource(configMaps).Namespace("default")
	write := func(i int) {
		_, err := maps.Create(l.ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1",
			"kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("many-", i)},
			"data": map[string]any{"v": strings.Repeat("x", 200)}}}, metav1.CreateOptions{})
		if err != nil {
			l.t.Error(err)
		}
	}
	write(0)
	l.everyone(1)
	before, began := l.revision("load"), time.Now()
	each(loadObjects, func(i int) { write(i + 1) })
	applied := time.Now()
	last := l.everyone(loadObjects + 1)
	time.Sleep(3 * time.Second) // for what is written when there is time
	say("placement-1000-objects", last.Sub(applied).Seconds(), "s", 0, len(l.agents),
		fmt.Sprintf("from the last answer of the API to the last of %d commits at agents; the API took %.1f s for the "+
			"objects", loadObjects*len(l.agents), applied.Sub(began).Seconds()))
	say("placement-writes-per-object", float64(l.revision("load")-before)/loadObjects, "writes", 0, len(l.agents),
		"of the center's store, all in; none is for a target")
}

// everyone waits until all agents have so many of the objects, and returns when the last was committed.
func (l *load) everyone(n int) time.Time {
	l.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		last, missing := int64(0), 0
		for _, a := range l.agents {
			if a.count("configmaps") < n {
				missing++
			}
			last = max(last, a.sink.at.Load())
		}
		if missing == 0 {
			return time.Unix(0, last)
		}
		if time.Since(began) > 5*time.Minute {
			l.t.Fatalf("%d agents do not have %d objects", missing, n)
		}
	}
}

// count is how many objects of a resource an agent has that were written by this test.
func (a *fleetAgent) count(resource string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.reports {
		if k.Resource == resource && (strings.HasPrefix(k.Name, "many-") || strings.HasPrefix(k.Name, "web-")) {
			n++
		}
	}
	return n
}
