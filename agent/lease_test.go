package agent

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// renew has the parent answer a request that is sent now.
func (s *site) renew(terms lease.Terms, lasts time.Duration, behind bool) {
	r, _ := s.leased.Request()
	s.leased.Answered(lease.Answer{N: r.N, Terms: terms, For: lasts, Behind: behind})
}

func (s *site) field(e store.Entry, field string) any {
	o := s.api.Object(e.Key.Group, e.Key.Resource, e.Key.Namespace, e.Key.Name)
	if o == nil {
		return nil
	}
	return o["spec"].(map[string]any)[field]
}

func (s *site) is(e store.Entry, field string, want any) func() bool {
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	return func() bool { return text(s.field(e, field)) == text(want) }
}

func TestTheEndOfALeaseStopsWhatMustNotRunTwice(t *testing.T) {
	s := newSite(t)
	workload := func(group, plural, kind, name string, spec, annotations map[string]any) store.Entry {
		version := "v1"
		if group != "" {
			version = group + "/v1"
		}
		e := live(group, plural, version, kind, "default", name, map[string]any{"spec": spec})
		o := map[string]any{}
		if err := json.Unmarshal(e.Body, &o); err != nil {
			t.Fatal(err)
		}
		for k, v := range annotations {
			o["metadata"].(map[string]any)["annotations"].(map[string]any)[k] = v
		}
		e.Body, _ = json.Marshal(o)
		e.Hash = store.HashBody(e.Generation, e.Body)
		return e
	}
	claims := map[string]any{"spec": map[string]any{"volumes": []any{map[string]any{
		"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}}}
	shared := map[string]any{"spec": map[string]any{"volumes": []any{map[string]any{
		"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "shared"}}}}}
	db := workload("apps", "statefulsets", "StatefulSet", "db", map[string]any{"replicas": 3}, nil)
	twin := workload("apps", "statefulsets", "StatefulSet", "twin", map[string]any{"replicas": 3},
		map[string]any{"skerry.dev/replicas": "Duplicated"})
	run := workload("batch", "jobs", "Job", "run", map[string]any{"parallelism": 1}, nil)
	web := workload("apps", "deployments", "Deployment", "web", map[string]any{"replicas": 2}, nil)
	alone := workload("apps", "deployments", "Deployment", "alone", map[string]any{"replicas": 2},
		map[string]any{lease.AnnotationRunsOnce: "true"})
	files := workload("apps", "deployments", "Deployment", "files", map[string]any{"replicas": 1, "template": claims}, nil)
	many := workload("apps", "deployments", "Deployment", "many", map[string]any{"replicas": 4, "template": shared}, nil)
	pod := workload("", "pods", "Pod", "pod", claims["spec"].(map[string]any), nil)
	s.desire(db, twin, run, web, alone, files, many, pod,
		workload("", "persistentvolumeclaims", "PersistentVolumeClaim", "data",
			map[string]any{"accessModes": []any{"ReadWriteOnce"}}, nil),
		workload("", "persistentvolumeclaims", "PersistentVolumeClaim", "shared",
			map[string]any{"accessModes": []any{"ReadWriteMany"}}, nil))
	s.settled()

	terms := lease.Terms{Duration: time.Hour, Stop: true}
	s.renew(terms, time.Hour, false)
	if s.leased.ended() || !s.is(db, "replicas", 3)() {
		t.Fatal("a lease that holds stops something")
	}
	s.renew(terms, time.Nanosecond, false)
	for what, stopped := range map[string]func() bool{
		"the StatefulSet": s.is(db, "replicas", 0), "the Job": s.is(run, "suspend", true),
		"what its Placement moves break first": s.is(alone, "replicas", 0),
		"what has a claim of one node":         s.is(files, "replicas", 0),
		"the Pod":                              func() bool { return !s.exists(pod) },
	} {
		eventually(t, what+" is stopped", stopped)
	}
	for what, runs := range map[string]func() bool{
		"a Deployment": s.is(web, "replicas", 2), "a StatefulSet that is duplicated": s.is(twin, "replicas", 3),
		"what shares a claim": s.is(many, "replicas", 4),
	} {
		if !runs() {
			t.Errorf("%s is stopped", what)
		}
	}

	// A restart knows it, also where nothing is written down but that the lease was granted.
	s.settled()
	s.restart(false)
	s.settled()
	if !s.leased.ended() || !s.is(db, "replicas", 0)() || s.exists(pod) {
		t.Fatal("a restart has started what was stopped")
	}

	// The parent is heard, and has more to say: nothing starts. Then it has said all.
	s.leased.Begin()
	s.renew(terms, time.Hour, true)
	s.desire(gone(run))
	s.settled()
	if !s.is(db, "replicas", 0)() {
		t.Fatal("it runs before the site knows what has left it")
	}
	s.renew(terms, time.Hour, false)
	eventually(t, "the StatefulSet runs again", s.is(db, "replicas", 3))
	eventually(t, "the Pod runs again", func() bool { return s.exists(pod) })
	if s.exists(run) {
		t.Error("what has left the site runs again")
	}
}

// A lease that was granted in another boot of the machine has ended, as far as anybody knows.
func TestARebootEndsTheLease(t *testing.T) {
	s := newSite(t)
	db := live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "db",
		map[string]any{"spec": map[string]any{"replicas": 1}})
	s.desire(db)
	s.renew(lease.Terms{Duration: time.Hour, Stop: true}, time.Hour, false)
	s.settled()
	s.restart(false)
	s.settled()
	if s.leased.ended() {
		t.Fatal("a restart of the agent has ended the lease")
	}
	stored := s.leased.stored
	stored.Boot = "another"
	data, err := json.Marshal(stored)
	if err == nil {
		err = s.file.SetMeta(leaseName, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.restart(false)
	eventually(t, "it is stopped", s.is(db, "replicas", 0))
}

// The file with the end of the lease belongs to terms: one of other terms is not believed.
func TestTheEndOfALeaseIsReadWithItsTerms(t *testing.T) {
	s := newSite(t)
	s.renew(lease.Terms{Duration: time.Hour, Stop: true}, time.Hour, false)
	old, err := os.ReadFile(s.leased.path())
	if err != nil {
		t.Fatal(err)
	}
	s.renew(lease.Terms{Duration: time.Minute, Stop: true}, time.Minute, false)
	if err := os.WriteFile(s.leased.path(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	s.restart(false)
	if left, ok := s.leased.holder.Next(s.leased.holder.State().Until - time.Minute); !ok || left > time.Minute {
		t.Errorf("the lease lasts for %v of an hour that was taken back", left)
	}
}

// An autoscaler that owns the replicas does not keep a workload running.
func TestRetainedReplicasAreStopped(t *testing.T) {
	s := newSite(t)
	db := live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "db", map[string]any{
		"spec": map[string]any{"replicas": 1}})
	o := map[string]any{}
	if err := json.Unmarshal(db.Body, &o); err != nil {
		t.Fatal(err)
	}
	o["metadata"].(map[string]any)["annotations"].(map[string]any)[target.AnnotationSync] =
		`{"whenDrifted":"Report","retainFields":["/spec/replicas"]}`
	db.Body, _ = json.Marshal(o)
	db.Hash = store.HashBody(1, db.Body)
	s.desire(db)
	s.settled()
	s.renew(lease.Terms{Duration: time.Hour, Stop: true}, time.Nanosecond, false)
	eventually(t, "it is stopped", s.is(db, "replicas", 0))
}

// The Jobs that a CronJob has started stop with it, and go on with it; those that a person has suspended,
// and those of others, are left alone.
func TestTheJobsOfACronJobStopWithIt(t *testing.T) {
	s := newSite(t)
	s.api.Serve(targettest.Kind{Group: "batch", Version: "v1", Plural: "cronjobs", Kind: "CronJob", Namespaced: true})
	cron := live("batch", "cronjobs", "batch/v1", "CronJob", "default", "nightly", map[string]any{"spec": map[string]any{
		"schedule": "@daily"}})
	s.desire(cron)
	s.settled()
	o := s.api.Object("batch", "cronjobs", "default", "nightly")
	uid := o["metadata"].(map[string]any)["uid"].(string)
	start := func(name, owner string, spec, status map[string]any) {
		s.api.Put("batch/v1", "Job", "default", name, map[string]any{"metadata": map[string]any{
			"ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": owner,
				"controller": true}}}, "spec": spec, "status": status})
	}
	start("runs", uid, map[string]any{}, map[string]any{})
	start("ended", uid, map[string]any{}, ended("Complete"))
	start("held", uid, map[string]any{"suspend": true}, map[string]any{})
	start("foreign", "another", map[string]any{}, map[string]any{})
	suspended := func(name string) any {
		return s.api.Object("batch", "jobs", "default", name)["spec"].(map[string]any)["suspend"]
	}
	terms := lease.Terms{Duration: time.Hour, Stop: true}
	s.renew(terms, time.Nanosecond, false)
	eventually(t, "the CronJob is stopped", s.is(cron, "suspend", true))
	eventually(t, "its Job is stopped", func() bool { return suspended("runs") == true })
	start("late", uid, map[string]any{}, map[string]any{})
	eventually(t, "so is one that it had begun to start", func() bool { return suspended("late") == true })
	s.restart(false)
	s.leased.Begin()
	s.renew(terms, time.Hour, false)
	eventually(t, "the CronJob goes on", s.is(cron, "suspend", nil))
	eventually(t, "so do its Jobs", func() bool { return suspended("runs") != true && suspended("late") != true })
	if suspended("ended") != nil || suspended("held") != true || suspended("foreign") != nil {
		t.Errorf("ended %v, held %v, foreign %v", suspended("ended"), suspended("held"), suspended("foreign"))
	}
	for _, name := range []string{"runs", "late"} {
		if notes, _ := s.api.Object("batch", "jobs", "default", name)["metadata"].(map[string]any)["annotations"].(map[string]any); notes["skerry.dev/lease-ended"] != nil {
			t.Errorf("%s is marked still: %v", name, notes)
		}
	}
}

// What the end of a lease has stopped runs again also when an agent that begins hears of its renewal
// before it has looked at the clock.
func TestARenewalBeforeTheClockIsLookedAt(t *testing.T) {
	s := newSite(t)
	db := statefulSet("db")
	s.desire(db)
	s.settled()
	terms := lease.Terms{Duration: time.Hour, Stop: true}
	s.renew(terms, time.Nanosecond, false)
	eventually(t, "the StatefulSet is stopped", s.is(db, "replicas", 0))
	next, err := openLease(s.agent)
	if err != nil {
		t.Fatal(err)
	}
	next.now = s.leased.now // the applier goes by it
	next.Begin()
	r, _ := next.Request()
	next.Answered(lease.Answer{N: r.N, Terms: terms, For: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- next.run(ctx) }()
	eventually(t, "the StatefulSet runs again", s.is(db, "replicas", 1))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
