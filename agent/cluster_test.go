package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// cluster is a site over a real API server: the one that SKERRY_TEST_KUBECONFIG names.
func cluster(t testing.TB) *site {
	kubeconfig := os.Getenv("SKERRY_TEST_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("SKERRY_TEST_KUBECONFIG names no cluster")
	}
	access, err := Cluster(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, center: store.NewIncarnation(), access: access}
	s.start(t.TempDir())
	t.Cleanup(func() { s.stop() })
	return s
}

func webDeployment(generation int64, ns, name string, replicas int, image string) store.Entry {
	labels := map[string]any{"app": name}
	return liveAt(
		generation,
		"apps",
		"deployments",
		"apps/v1",
		"Deployment",
		ns,
		name,
		map[string]any{"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}},
			},
		}},
	)
}

func (s *site) client() *target.Client {
	s.t.Helper()
	c, err := s.clients.For(space)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *site) pods(of string) (running int) {
	for _, e := range s.observer.Feed().Since(0, 0) {
		if e.Key.Resource != "pods" || e.Tombstone || !strings.HasPrefix(e.Key.Name, of+"-") {
			continue
		}
		var status struct{ Phase string }
		if r := s.report(e.Key); r != nil && json.Unmarshal(r.Status, &status) == nil && status.Phase == "Running" {
			running++
		}
	}
	return running
}

func ready(r *store.Report) (n int, observed int64) {
	var status struct {
		ReadyReplicas      int
		ObservedGeneration int64
	}
	if r != nil && r.Status != nil && json.Unmarshal(r.Status, &status) == nil {
		return status.ReadyReplicas, status.ObservedGeneration
	}
	return 0, 0
}

func TestClusterLifeOfADeployment(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-test-%d", time.Now().UnixNano())
	d := webDeployment(3, ns, "web", 3, "example.com/web:1")
	s.desire(namespace(ns), d, configMap(ns, "c", "1"))
	eventually(t, "3 replicas are ready", func() bool { n, seen := ready(s.report(d.Key)); return n == 3 && seen == 3 })
	eventually(t, "3 pods run", func() bool { return s.pods("web") == 3 })
	d = webDeployment(4, ns, "web", 5, "example.com/web:2")
	s.desire(d)
	eventually(
		t,
		"5 replicas of the new generation are ready",
		func() bool { n, seen := ready(s.report(d.Key)); return n == 5 && seen == 4 },
	)
	eventually(t, "the rollout is over", func() bool {
		var status struct{ Replicas, UpdatedReplicas, TerminatingReplicas, AvailableReplicas int }
		if err := json.Unmarshal(s.report(d.Key).Status, &status); err != nil {
			t.Fatal(err)
		}
		return status.Replicas == 5 && status.UpdatedReplicas == 5 && status.AvailableReplicas == 5 &&
			status.TerminatingReplicas == 0 &&
			s.pods("web") == 5 &&
			s.observer.Feed().Len() == 8
	})
	before := s.observer.Feed().Root()
	live, err := s.client().Get(context.Background(), target.Of(d.Key, "apps/v1"), ns, "web", false)
	if err != nil {
		t.Fatal(err)
	}
	s.restart(true)
	<-s.observer.Ready()
	s.settled()
	again, err := s.client().Get(context.Background(), target.Of(d.Key, "apps/v1"), ns, "web", false)
	if err != nil || again.Metadata.ResourceVersion != live.Metadata.ResourceVersion {
		t.Errorf("a restart changed the object: %v", err)
	}
	eventually(t, "the same reports as before the restart", func() bool { return s.observer.Feed().Root() == before })
	s.desire(gone(d), gone(namespace(ns)), gone(configMap(ns, "c", "1")))
	eventually(t, "all is gone", func() bool { return s.applier.Pending() == 0 && s.observer.Feed().Len() == 0 })
}

func TestClusterKinds(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-kinds-%d", time.Now().UnixNano())
	group := fmt.Sprintf("g%d.example.com", time.Now().UnixNano())
	definition := widgetDefinition(group)
	widget := live(group, "widgets", group+"/v1", "Widget", ns, "w", map[string]any{"spec": map[string]any{"size": 1}})
	bad := live(
		"apps",
		"deployments",
		"apps/v1",
		"Deployment",
		ns,
		"bad",
		map[string]any{"spec": map[string]any{"replicas": -1}},
	)
	secret := live(
		"",
		"secrets",
		"v1",
		"Secret",
		ns,
		"s",
		map[string]any{"stringData": map[string]any{"password": "x"}},
	)
	job := live(
		"batch",
		"jobs",
		"batch/v1",
		"Job",
		ns,
		"j",
		map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "example.com/job:1"}},
		}}}},
	)
	s.desire(definition, namespace(ns), widget, bad, secret, job)
	eventually(
		t,
		"the custom resource is applied",
		func() bool { r := s.report(widget.Key); return r != nil && r.Applied != "" },
	)
	eventually(t, "the invalid object is reported", func() bool {
		r := s.report(bad.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "Invalid"
	})
	t.Log(s.report(bad.Key).Error.Message)
	eventually(t, "the pod of the job is reported", func() bool {
		return slices.ContainsFunc(
			s.observer.Feed().Since(0, 0),
			func(e store.Entry) bool { return e.Key.Resource == "pods" && !e.Tombstone },
		)
	})
	s.desire(gone(definition), gone(namespace(ns)), gone(widget), gone(bad), gone(secret), gone(job))
	eventually(t, "all is gone", func() bool { return s.applier.Pending() == 0 && s.observer.Feed().Len() == 0 })
}

// TestClusterFigures measures against the same API server: from commit to the object's existence,
// seen by a watch, beside a bare apply.
func TestClusterFigures(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-figures-%d", time.Now().UnixNano())
	s.desire(namespace(ns), configMap(ns, "warm", "1"))
	s.settled()
	c, ctx := s.client(), t.Context()
	resource := target.Resource{Version: "v1", Plural: "configmaps"}
	from, err := c.List(
		ctx,
		target.Listing{Resource: resource, Namespace: ns},
		func(*target.Object) error { return nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1000)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		_, _ = c.Watch(
			watching,
			target.Listing{Resource: resource, Namespace: ns},
			from,
			time.Hour,
			func(_ target.EventType, o *target.Object) {
				seen <- o.Metadata.Name
			},
		)
	})
	defer watcher.Wait()
	defer stop()
	wait := func(name string) {
		for n := range seen {
			if n == name {
				return
			}
		}
	}
	var floor, ours []time.Duration
	for i := range 100 {
		e := configMap(ns, fmt.Sprint("floor-", i), "1")
		began := time.Now()
		if _, _, err := c.Apply(ctx, resource, ns, e.Key.Name, e.Body, target.Applying{}); err != nil {
			t.Fatal(err)
		}
		wait(e.Key.Name)
		floor = append(floor, time.Since(began))
		e = configMap(ns, fmt.Sprint("ours-", i), "1")
		began = time.Now()
		s.desire(e)
		wait(e.Key.Name)
		ours = append(ours, time.Since(began))
	}
	slices.Sort(floor)
	slices.Sort(ours)
	t.Logf(
		"one at a time: bare apply p50 %v p99 %v; commit to existing p50 %v p99 %v",
		floor[50],
		floor[98],
		ours[50],
		ours[98],
	)

	began := time.Now()
	for i := range 100 {
		e := configMap(ns, fmt.Sprint("burst-floor-", i), "1")
		if _, _, err := c.Apply(ctx, resource, ns, e.Key.Name, e.Body, target.Applying{}); err != nil {
			t.Fatal(err)
		}
		wait(e.Key.Name)
	}
	bare := time.Since(began)
	var burst []store.Entry
	for i := range 100 {
		burst = append(burst, configMap(ns, fmt.Sprint("burst-", i), "1"))
	}
	began = time.Now()
	s.desire(burst...)
	for range burst {
		<-seen
	}
	t.Logf("burst of 100: sequential bare apply %v, ours %v", bare, time.Since(began))

	d := webDeployment(1, ns, "web", 1, "example.com/web:1")
	s.desire(d)
	eventually(t, "the deployment is ready", func() bool { n, _ := ready(s.report(d.Key)); return n == 1 })
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	t.Logf("heap %d KB, system %d KB", mem.HeapAlloc>>10, mem.Sys>>10)
	s.desire(gone(namespace(ns)), gone(d))
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// What somebody else has made is never changed, whatever its kind and however close in time it was
// made.
func TestClusterForeignObjects(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-foreign-%d", time.Now().UnixNano())
	group := fmt.Sprintf("f%d.example.com", time.Now().UnixNano())
	definition := widgetDefinition(group)
	s.desire(namespace(ns), definition)
	s.settled()
	widget := live(group, "widgets", group+"/v1", "Widget", ns, "w", map[string]any{"spec": map[string]any{"size": 1}})
	for _, e := range []store.Entry{configMap(ns, "c", "ours"), widget,
		webDeployment(1, ns, "web", 1, "example.com/web:1")} {
		var body map[string]any
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		delete(body["metadata"].(map[string]any), "annotations")
		theirs, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		resource := target.Of(e.Key, body["apiVersion"].(string))
		made, err := s.client().Create(t.Context(), resource, ns, theirs)
		if err != nil {
			t.Fatal(err)
		}
		s.desire(e)
		eventually(t, e.Key.Resource+" is reported", func() bool {
			r := s.report(e.Key)
			return r != nil && r.Error != nil && r.Error.Reason == "AlreadyExists"
		})
		now, err := s.client().Get(t.Context(), resource, ns, e.Key.Name, false)
		if err != nil || now.OriginUID() != "" || now.Metadata.Generation != made.Metadata.Generation {
			t.Errorf("%s of somebody else was changed: %+v, %v", e.Key.Resource, now, err)
		}
		s.desire(gone(e))
	}
	s.desire(gone(namespace(ns)), gone(definition))
}

func widgetDefinition(group string) store.Entry {
	return live(
		"apiextensions.k8s.io",
		"customresourcedefinitions",
		"apiextensions.k8s.io/v1",
		"CustomResourceDefinition",
		"",
		"widgets."+group,
		map[string]any{"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{
					"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				},
			}},
		}},
	)
}

// What is left on the target has nothing of us any more, and loses no field by that.
func TestClusterOrphan(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-orphan-%d", time.Now().UnixNano())
	d, c := webDeployment(1, ns, "web", 2, "example.com/web:1"), configMap(ns, "c", "1")
	s.desire(namespace(ns), d, c)
	eventually(t, "it runs", func() bool { n, _ := ready(s.report(d.Key)); return n == 2 })
	get := func(e store.Entry, api string) *target.Object {
		t.Helper()
		o, err := s.client().Get(t.Context(), target.Of(e.Key, api), ns, e.Key.Name, false)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	before := get(d, "apps/v1")
	s.desire(removed(d, store.RemoveOrphan), removed(c, store.RemoveOrphan))
	s.settled()
	after := get(d, "apps/v1")
	if string(after.Spec) != string(before.Spec) {
		t.Errorf("its spec was %s, now it is %s", before.Spec, after.Spec)
	}
	for _, o := range []*target.Object{after, get(c, "v1")} {
		if o.OriginUID() != "" || o.Owned() != nil || strings.Contains(dump(o.Metadata), "skerry") {
			t.Errorf("something of us is left: %s", dump(o.Metadata))
		}
	}
	keep := webDeployment(1, ns, "keep", 1, "example.com/web:1")
	s.desire(keep)
	eventually(t, "it runs", func() bool { n, _ := ready(s.report(keep.Key)); return n == 1 })
	s.desire(removed(keep, store.RemoveKeepDependents))
	eventually(t, "it is gone", func() bool { return s.applier.Pending() == 0 })
	sets := 0
	listing := target.Listing{
		Resource:  target.Resource{Group: "apps", Version: "v1", Plural: "replicasets"},
		Namespace: ns,
	}
	if _, err := s.client().List(t.Context(), listing, func(o *target.Object) error {
		if strings.HasPrefix(o.Metadata.Name, "keep-") && len(o.Metadata.OwnerReferences) == 0 {
			sets++
		}
		return nil
	}); err != nil || sets != 1 {
		t.Errorf("%d replica sets were kept: %v", sets, err)
	}
	s.desire(gone(namespace(ns))) // stays, because it holds what was left
}
