package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/store"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

const (
	loadWorkloads = 100             // of which all agents report
	loadReports   = 1000            // a second, of all agents together
	loadProbes    = 20              // more Deployments, whose statuses are timed: the even ones change now and then,
	loadQuiet     = 5 * time.Second // which is so often, and the odd ones all the time
	loadTime      = 30 * time.Second
)

// says reports how many replicas of a Deployment are available.
func (a *fleetAgent) says(k store.Key, available int) {
	a.mu.Lock()
	old, ok := a.reports[k]
	if !ok {
		a.mu.Unlock()
		return
	}
	var r store.Report
	ignore(json.Unmarshal(old.Body, &r))
	r.Status, _ = json.Marshal(map[string]any{"observedGeneration": old.Generation, "replicas": 3,
		"readyReplicas": available, "updatedReplicas": 3, "availableReplicas": available,
		"unavailableReplicas": 3 - available})
	r.At = time.Now().UnixMilli()
	body, err := json.Marshal(r)
	ignore(err)
	a.reports[k] = store.Entry{Generation: old.Generation, Body: body}
	a.revision++
	revision := a.revision
	a.mu.Unlock()
	a.feed.Apply(revision+1, store.Change{Key: k, Hash: store.HashReport(old.Generation, body),
		Generation: old.Generation})
}

// workload is the key of one of the Deployments that all agents have.
func workload(i int) store.Key {
	return store.Key{Space: "load", Group: "apps", Resource: "deployments", Namespace: "default",
		Name: fmt.Sprint("web-", i)}
}

// workloads are placed on all agents, which report them as available.
func (l *load) workloads(n int) {
	l.t.Helper()
	each(n, func(i int) {
		pod := map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "c", "image": "example.com/web:1"}}}}
		l.create(deployments, "default", map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": workload(i).Name}, "spec": map[string]any{"replicas": 3,
				"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": pod}})
	})
	for began := time.Now(); slices.ContainsFunc(l.agents, func(a *fleetAgent) bool {
		return a.count("deployments") < n
	}); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 3*patience(len(l.agents)) {
			l.t.Fatal("the Deployments do not come")
		}
	}
	for _, a := range l.agents {
		for i := range n {
			a.says(workload(i), 3)
		}
	}
}

// TestFleetReports measures a center whose SKERRY_FLEET_REPORTS agents all have 100 Deployments and report
// 1,000 changes a second (make bench FIGURE=reports).
func TestFleetReports(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SKERRY_FLEET_REPORTS"))
	if n <= 0 {
		t.Skip("SKERRY_FLEET_REPORTS=1000 SKERRY_BIN=bin/skerry: make bench FIGURE=reports")
	}
	f := newFleet(t, n, startCenterProcess(t))
	f.join(f.agents)
	f.start(f.agents)
	f.allBack(f.agents, time.Now(), 3*patience(n))
	l := &load{fleet: f, ctx: t.Context()}
	l.everywhere()
	l.reports("fleet")
}

// reports come from all agents, of Deployments that all of them have, so many a second. Some more
// Deployments, whose status only probes change, tell how late statuses are.
func (l *load) reports(figure string) {
	l.workloads(loadWorkloads + loadProbes)
	var probes []shows
	for i := range loadProbes {
		probes = append(probes, l.watches(workload(loadWorkloads+i)))
		probes[i].wait(3)
	}
	l.center.quiet()
	before, cpu, own, began := l.revision("load"), l.center.cpu(), ownCPU(), time.Now()
	ctx, stop := context.WithTimeout(l.ctx, loadTime)
	defer stop()
	sent := make(chan int)
	go func() { sent <- l.reporting(ctx) }()
	profiled := make(chan struct{})
	go func() { l.center.profile(figure+"-reports", loadTime/2); close(profiled) }()
	var mu sync.Mutex
	var lags [2][]time.Duration // of those that change now and then, and all the time
	var probing sync.WaitGroup
	for i, p := range probes {
		busy := i % 2
		probing.Go(func() {
			for lag := range p.probe(ctx, i, loadQuiet*time.Duration(1-busy)) {
				mu.Lock()
				lags[busy] = append(lags[busy], lag)
				mu.Unlock()
			}
		})
	}
	n := <-sent
	took := time.Since(began).Seconds()
	used, wrote, own := l.center.cpu()-cpu, l.center.wrote(before), ownCPU()-own
	probing.Wait()
	<-profiled
	note := fmt.Sprintf("%d Deployments at each, %.0f reports a second", loadWorkloads, float64(n)/took)
	say(figure+"-reports-cpu", 100*used.Seconds()/took, "% of a core", 0, len(l.agents), note+fmt.Sprintf(
		"; all agents together, in one process: %.0f %%", 100*own.Seconds()/took))
	say(figure+"-reports-writes", float64(wrote.all())/took, "writes/s", 0, len(l.agents), note)
	wrote.each(func(kind string, n int) {
		say(figure+"-reports-writes/"+kind, float64(n)/took, "writes/s", 0, len(l.agents), kindsOfWrites[kind])
	})
	for busy, of := range []string{"an object that changes every five seconds", "an object that changes all the time"} {
		slices.Sort(lags[busy])
		name, n := figure+[]string{"-status-lag-", "-busy-status-lag-"}[busy], len(lags[busy])
		say(name+"p50", ms(lags[busy][n/2]), "ms", 0, n, note+"; from the report to the space, of "+of)
		say(name+"p99", ms(lags[busy][n*99/100]), "ms", 0, n, note)
	}
}

// reporting changes reports of random agents, so many a second, until ctx ends, and returns how many.
func (l *load) reporting(ctx context.Context) (n int) {
	random, began := rand.New(rand.NewPCG(1, 2)), time.Now()
	for ; ctx.Err() == nil; n++ {
		a := l.agents[random.IntN(len(l.agents))]
		a.says(workload(random.IntN(loadWorkloads)), 2+random.IntN(2))
		if ahead := time.Duration(n)*time.Second/loadReports - time.Since(began); ahead > 0 {
			time.Sleep(ahead)
		}
	}
	return n
}

// ownCPU is the time that this process, which is all agents, has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// shows follows how many replicas of a Deployment are available at its worst target, by its status.
type shows struct {
	l     *load
	of    store.Key
	comes <-chan watch.Event
}

func (l *load) watches(of store.Key) shows {
	l.t.Helper()
	w, err := l.client("load").Resource(deployments).Namespace(of.Namespace).Watch(l.ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + of.Name})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(w.Stop)
	return shows{l, of, w.ResultChan()}
}

// probe has one agent after another, from the one with a number on, report that fewer replicas are
// available, so often and until ctx ends, and yields how long it took until the space showed it.
func (s shows) probe(ctx context.Context, from int, every time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i := from; ctx.Err() == nil; i++ {
			next := time.After(every)
			a, is, at := s.l.agents[i%len(s.l.agents)], 1+i%2, time.Now()
			a.says(s.of, is)
			s.wait(is)
			if !yield(time.Since(at)) {
				return
			}
			a.says(s.of, 3)
			s.wait(3)
			select {
			case <-next:
			case <-ctx.Done():
			}
		}
	}
}

// wait returns when the status says so many, as news.
func (s shows) wait(available int) {
	s.l.t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case e, ok := <-s.comes:
			if !ok {
				s.l.t.Fatalf("the watch of %s has ended", s.of)
			}
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				s.l.t.Fatalf("the watch of %s says %v", s.of, e.Object)
			}
			if is, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas"); int(is) == available {
				return
			}
		case <-late:
			s.l.t.Fatalf("%s never shows %d", s.of, available)
		}
	}
}
