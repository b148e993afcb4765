package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// owned is the metadata of an object that is controlled by another one.
func owned(uid string) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid,
			"controller": true}},
	}}
}

func podKey(ns, name string) store.Key {
	return store.Key{Space: space, Resource: "pods", Namespace: ns, Name: name}
}

func (s *site) uid(group, plural, ns, name string) string {
	s.t.Helper()
	o := s.api.Object(group, plural, ns, name)
	if o == nil {
		s.t.Fatalf("%s/%s is not on the target", plural, name)
	}
	return o["metadata"].(map[string]any)["uid"].(string)
}

func replicas(r *store.Report) (out struct{ Replicas, ObservedGeneration int64 }) {
	if r != nil && r.Status != nil {
		if err := json.Unmarshal(r.Status, &out); err != nil {
			panic(err)
		}
	}
	return out
}

func TestStatusComesBackInTermsOfTheSourcesGeneration(t *testing.T) { inBubble(t, statusComesBack) }

func statusComesBack(t *testing.T) {
	s := newSite(t)
	d := deployment(7, "default", "web", 3)
	s.desire(d)
	s.settled()
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 1, "observedGeneration": 1,
		"conditions": []any{map[string]any{"type": "Available", "observedGeneration": 1}}})
	eventually(t, "the status is reported", func() bool { return replicas(s.report(d.Key)).Replicas == 1 })
	if got := replicas(s.report(d.Key)); got.ObservedGeneration != 7 {
		t.Errorf("observedGeneration %d instead of 7", got.ObservedGeneration)
	}
	var status struct {
		Conditions []struct{ ObservedGeneration int64 }
	}
	if err := json.Unmarshal(s.report(d.Key).Status, &status); err != nil || status.Conditions[0].ObservedGeneration != 7 {
		t.Errorf("condition: %+v %v", status, err)
	}

	next := deployment(9, "default", "web", 5)
	s.desire(next)
	s.settled()
	r := s.report(d.Key)
	if got := replicas(r); r.Generation != 9 || r.Applied != next.Hash.String() || got.ObservedGeneration >= 9 {
		t.Errorf("generation 9 is applied and not observed yet, but the report says %+v of %s", got, dump(r))
	}
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 5, "observedGeneration": 2})
	eventually(t, "the new generation is observed", func() bool {
		return replicas(s.report(d.Key)).ObservedGeneration == 9
	})
}

func TestPodsOfPlacedObjectsAreReportedAndOthersAreNot(t *testing.T) { inBubble(t, podsAreReported) }

func podsAreReported(t *testing.T) {
	s := newSite(t)
	other := s.api.Put("apps/v1", "Deployment", "default", "other", nil)
	otherSet := s.api.Put("apps/v1", "ReplicaSet", "default", "other-1", owned(other))
	s.api.Put("v1", "Pod", "default", "other-1-a", owned(otherSet))
	d := deployment(1, "default", "web", 1)
	s.desire(d)
	s.settled()
	<-s.observer.Ready()
	// a ReplicaSet has the annotations of its Deployment
	inherited := owned(s.uid("apps", "deployments", "default", "web"))
	inherited["metadata"].(map[string]any)["annotations"] = map[string]any{
		target.AnnotationOriginUID: "source-deployments-web"}
	set := s.api.Put("apps/v1", "ReplicaSet", "default", "web-1", inherited)
	s.api.Put("v1", "Pod", "default", "web-1-a", owned(set))
	s.api.SetStatus("", "pods", "default", "web-1-a", map[string]any{"phase": "Running"})
	key := podKey("default", "web-1-a")
	eventually(t, "the pod runs", func() bool {
		r := s.report(key)
		return r != nil && string(r.Status) == `{"phase":"Running"}`
	})
	r := s.report(key)
	var object struct {
		Kind     string
		Status   any
		Metadata struct {
			Name, UID       string
			OwnerReferences []struct{ APIVersion, Kind, Name, UID string }
		}
	}
	if err := json.Unmarshal(r.Object, &object); err != nil {
		t.Fatal(err)
	}
	o := object.Metadata.OwnerReferences
	if r.OriginUID != "source-deployments-web" || object.Kind != "Pod" || object.Status != nil ||
		object.Metadata.UID == "" ||
		len(o) != 2 || o[1].UID != set || o[0].Kind != "Deployment" || o[0].APIVersion != "apps/v1" || o[0].Name != "web" ||
		o[0].UID != "source-deployments-web" {
		t.Errorf("reported pod: %s", r.Object)
	}
	if r := s.report(podKey("default", "other-1-a")); r != nil {
		t.Errorf("a foreign pod is reported: %s", dump(r))
	}
	s.api.Remove("", "pods", "default", "web-1-a")
	eventually(t, "the pod is gone", func() bool { return s.report(key) == nil })
}

func TestWhatTheTargetFilledInIsReported(t *testing.T) { inBubble(t, whatTheTargetFilledInIsReported) }

func whatTheTargetFilledInIsReported(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "default", "web", 1)
	service := func(name string, spec map[string]any) store.Entry {
		return live("", "services", "v1", "Service", "default", name, map[string]any{"spec": spec})
	}
	port := map[string]any{"port": 80, "protocol": "TCP"}
	open := service("open", map[string]any{"clusterIP": "10.0.0.7",
		"ports": []any{map[string]any{"port": 80, "protocol": "TCP", "nodePort": 30123}, map[string]any{"port": 81}}})
	none := service("none", map[string]any{"clusterIP": "None", "ports": []any{port}})
	balanced := service("balanced", map[string]any{"clusterIP": "None", "healthCheckNodePort": 30900,
		"ports": []any{port}})
	claim := live("", "persistentvolumeclaims", "v1", "PersistentVolumeClaim", "default", "data",
		map[string]any{"spec": map[string]any{}})
	s.desire(d, open, none, balanced, claim)
	s.settled()
	<-s.observer.Ready()
	bind := func(phase string) {
		s.api.Edit("controller", "", "persistentvolumeclaims", "default", "data",
			map[string]any{"spec": map[string]any{"volumeName": "pvc-1"},
				"status": map[string]any{"phase": phase}})
	}
	annotate := func(revision string) {
		s.api.Edit("controller", "apps", "deployments", "default", "web", map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"deployment.kubernetes.io/revision": revision}}})
	}
	if r := s.report(d.Key); r.Filled != nil {
		t.Errorf("before its controller has seen it: %s", dump(r))
	}
	annotate("12")
	eventually(t, "the revision", func() bool { r := s.report(d.Key); return r.Filled != nil && r.Filled.Revision == 12 })
	if f := s.report(open.Key).Filled; f == nil || f.ClusterIP != "10.0.0.7" || len(f.NodePorts) != 1 ||
		f.NodePorts[0] != (store.NodePort{Port: 80, Protocol: "TCP", NodePort: 30123}) {
		t.Errorf("of a Service: %+v", f)
	}
	if f := s.report(none.Key).Filled; f != nil {
		t.Errorf("of a headless Service: %+v", f)
	}
	if f := s.report(balanced.Key).Filled; f == nil || f.HealthCheckNodePort != 30900 {
		t.Errorf("of a balanced Service: %+v", f)
	}
	bind("Pending")
	eventually(t, "the claim's status", func() bool {
		return bytes.Contains(s.report(claim.Key).Status, []byte("Pending"))
	})
	if f := s.report(claim.Key).Filled; f != nil {
		t.Errorf("of a claim that is being bound: %+v", f)
	}
	bind("Bound")
	eventually(t, "the volume", func() bool {
		f := s.report(claim.Key).Filled
		return f != nil && f.VolumeName == "pvc-1"
	})
	annotate("12; rm")
	eventually(t, "what is no revision is none", func() bool { return s.report(d.Key).Filled == nil })
}

func TestTheHistoryOfPlacedObjectsIsReported(t *testing.T) { inBubble(t, theHistoryIsReported) }

func theHistoryIsReported(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "default", "web", 1)
	set := liveAt(1, "apps", "statefulsets", "apps/v1", "StatefulSet", "default", "db",
		map[string]any{"spec": map[string]any{}})
	s.desire(d, set)
	s.settled()
	<-s.observer.Ready()
	below := owned(s.uid("apps", "deployments", "default", "web"))
	meta := below["metadata"].(map[string]any)
	meta["annotations"] = map[string]any{target.AnnotationOriginUID: "source-deployments-web",
		"deployment.kubernetes.io/revision": "2"}
	below["spec"] = map[string]any{"replicas": 3}
	s.api.Put("apps/v1", "ReplicaSet", "default", "web-1", below)
	revision := owned(s.uid("apps", "statefulsets", "default", "db"))
	revision["data"], revision["revision"] = map[string]any{"spec": map[string]any{"x": "y"}}, 4
	s.api.Put("apps/v1", "ControllerRevision", "default", "db-1", revision)
	s.api.Put("apps/v1", "ControllerRevision", "default", "other-1", owned("somebody"))

	key := store.Key{Space: space, Group: "apps", Resource: "replicasets", Namespace: "default", Name: "web-1"}
	eventually(t, "the ReplicaSet is reported", func() bool { return s.report(key) != nil })
	var object struct {
		APIVersion, Kind string
		Revision         int64
		Spec, Data       map[string]any
		Metadata         target.Metadata
	}
	read := func(k store.Key) {
		t.Helper()
		object.Metadata = target.Metadata{}
		if err := json.Unmarshal(s.report(k).Object, &object); err != nil {
			t.Fatal(err)
		}
	}
	read(key)
	if object.APIVersion != "apps/v1" || object.Kind != "ReplicaSet" || object.Spec["replicas"] != 3.0 ||
		len(object.Metadata.Annotations) != 1 || object.Metadata.Annotations["deployment.kubernetes.io/revision"] != "2" ||
		object.Metadata.OwnerReferences[0].UID != "source-deployments-web" {
		t.Errorf("reported: %s", s.report(key).Object)
	}
	key.Resource, key.Name = "controllerrevisions", "db-1"
	eventually(t, "the ControllerRevision is reported", func() bool { return s.report(key) != nil })
	read(key)
	if object.Kind != "ControllerRevision" || object.Revision != 4 || object.Data["spec"] == nil {
		t.Errorf("reported: %s", s.report(key).Object)
	}
	key.Name = "other-1"
	if s.report(key) != nil {
		t.Error("a foreign ControllerRevision is reported")
	}
	key.Resource, key.Name = "replicasets", "web-1"
	s.api.Remove("apps", "replicasets", "default", "web-1")
	eventually(t, "it is gone", func() bool { return s.report(key) == nil })
}

// The three watches are independent: a pod may be seen before its ReplicaSet, and both before the
// record of the Deployment.
func TestChainSeenFromBelow(t *testing.T) { inBubble(t, chainSeenFromBelow) }

func chainSeenFromBelow(t *testing.T) {
	s := newSite(t)
	s.desire(deployment(1, "default", "first", 1)) // so that pods are watched
	s.settled()
	<-s.observer.Ready()
	job := live("batch", "jobs", "batch/v1", "Job", "default", "j", nil)
	s.api.Put("v1", "Pod", "default", "j-a", owned("uid-of-a-job-to-come"))
	set := owned(s.uid("apps", "deployments", "default", "first"))
	podOfSet := s.api.Put("v1", "Pod", "default", "first-1-a", owned("wrong"))
	_ = podOfSet
	setUID := s.api.Put("apps/v1", "ReplicaSet", "default", "unowned", nil)
	s.api.Put("v1", "Pod", "default", "p", owned(setUID))
	s.api.Put("apps/v1", "ReplicaSet", "default", "unowned", set) // adopted now
	eventually(t, "the pod is reported once its chain is known", func() bool {
		return s.report(podKey("default", "p")) != nil
	})
	s.desire(job)
	s.settled()
	s.api.Put("v1", "Pod", "default", "j-b", owned(s.uid("batch", "jobs", "default", "j")))
	eventually(t, "the pod of the job is reported", func() bool { return s.report(podKey("default", "j-b")) != nil })
	if s.report(podKey("default", "j-a")) != nil || s.report(podKey("default", "first-1-a")) != nil {
		t.Error("a pod of nobody is reported")
	}
}

func TestPodsGoWithTheirObject(t *testing.T) { inBubble(t, podsGoWithTheirObject) }

func podsGoWithTheirObject(t *testing.T) {
	s := newSite(t)
	st := live("apps", "statefulsets", "apps/v1", "StatefulSet", "default", "db", nil)
	s.desire(st)
	s.settled()
	s.api.Put("v1", "Pod", "default", "db-0", owned(s.uid("apps", "statefulsets", "default", "db")))
	eventually(t, "the pod is reported", func() bool { return s.report(podKey("default", "db-0")) != nil })
	old := s.uid("", "pods", "default", "db-0")
	s.api.Remove("", "pods", "default", "db-0")
	s.api.Put("v1", "Pod", "default", "db-0", owned(s.uid("apps", "statefulsets", "default", "db")))
	s.api.SetStatus("", "pods", "default", "db-0", map[string]any{"phase": "Pending"})
	eventually(t, "its successor is reported", func() bool {
		r := s.report(podKey("default", "db-0"))
		return r != nil && r.Status != nil && old != s.uid("", "pods", "default", "db-0")
	})
	s.desire(gone(st))
	s.settled()
	if s.observer.Feed().Len() != 0 {
		t.Error("a report of the pod or its object is left")
	}
}

// A watch that was cut goes on where it was; when the history is lost, what is not listed any more
// is gone.
func TestWatchResumesAndSweeps(t *testing.T) { inBubble(t, watchResumesAndSweeps) }

func watchResumesAndSweeps(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "default", "web", 1)
	s.desire(d)
	s.settled()
	var pods []string
	for i := range 120 { // more than two pages
		name := fmt.Sprint("p", i)
		pods = append(pods, name)
		s.api.Put("v1", "Pod", "default", name, owned(s.uid("apps", "deployments", "default", "web")))
	}
	eventually(t, "all pods are reported", func() bool { return s.observer.Feed().Len() == 121 })
	s.api.CutWatches()
	s.api.Remove("", "pods", "default", pods[0])
	eventually(t, "a deletion during a cut is seen", func() bool { return s.report(podKey("default", pods[0])) == nil })

	s.stopWatching(func() {
		s.api.Remove("", "pods", "default", pods[1])
		s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 4})
		s.api.Expire()
	})
	eventually(t, "a deletion in the lost history is seen", func() bool {
		return s.report(podKey("default", pods[1])) == nil
	})
	eventually(t, "a status in the lost history is seen", func() bool { return replicas(s.report(d.Key)).Replicas == 4 })
	if n := s.observer.Feed().Len(); n != 119 {
		t.Errorf("%d reports instead of 119", n)
	}
	if s.writesTo("web") != 1 {
		t.Error("listing again wrote to the target")
	}
}

// stopWatching runs f while no watch is connected.
func (s *site) stopWatching(f func()) {
	s.api.Pause(true)
	s.api.CutWatches()
	f()
	s.api.Pause(false)
}

func TestReadyMeansComplete(t *testing.T) { inBubble(t, readyMeansComplete) }

func readyMeansComplete(t *testing.T) {
	s := newSite(t)
	d := deployment(1, "default", "web", 1)
	s.desire(d)
	s.settled()
	for i := range 60 {
		s.api.Put("v1", "Pod", "default", fmt.Sprint("p", i), owned(s.uid("apps", "deployments", "default", "web")))
	}
	for i := range 150 { // whatever is listed first
		set := s.api.Put("apps/v1", "ReplicaSet", "default", fmt.Sprint("web-", i),
			owned(s.uid("apps", "deployments", "default", "web")))
		s.api.Put("v1", "Pod", "default", fmt.Sprint("of-set-", i), owned(set))
	}
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 60})
	eventually(t, "all is reported", func() bool {
		return s.observer.Feed().Len() == 361 && replicas(s.report(d.Key)).Replicas == 60
	})
	before := s.observer.Feed().Root()
	for range 3 {
		s.restart(false)
		<-s.observer.Ready()
		if s.observer.Feed().Root() != before {
			t.Errorf("the feed is not what it was: %d reports", s.observer.Feed().Len())
		}
	}
}

// A report that waits for more is sent as what the feed tells by then, never as what it does not
// tell yet: the parent would hold a value that equals none of the feed's, and be sent it again at
// each comparison.
func TestWhatIsSentIsWhatTheFeedTells(t *testing.T) { inBubble(t, whatIsSentIsWhatTheFeedTells) }

func whatIsSentIsWhatTheFeedTells(t *testing.T) {
	s := newSite(t)
	s.desire(deployment(1, "default", "web", 1))
	s.settled()
	<-s.observer.Ready()
	set := owned(s.uid("apps", "deployments", "default", "web"))
	key := store.Key{Space: space, Group: "apps", Resource: "replicasets", Namespace: "default", Name: "web-1"}
	s.api.Put("apps/v1", "ReplicaSet", "default", "web-1", set)
	eventually(t, "the ReplicaSet is reported", func() bool { return s.report(key) != nil })
	feed := s.observer.Feed()
	for i := range 50 {
		s.api.SetStatus("apps", "replicasets", "default", "web-1", map[string]any{"replicas": i})
		eventually(t, "it was seen", func() bool {
			return s.observer.Waiting() > 0 || replicas(s.report(key)).Replicas == int64(i)
		})
		body, generation, err := feed.Body(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if e, _ := feed.Get(key); e.Hash != store.HashReport(generation, body) {
			t.Fatalf("%s is sent, which is not what the feed tells", body)
		}
	}
}
