package agent

import (
	"encoding/json"
	"reflect"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

// template is a Pod template, with what a ReplicaSet's controller adds.
func template(image string, labels map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}},
	}
}

func templated(generation int64, name, image string) store.Entry {
	labels := map[string]any{"app": name}
	return liveAt(
		generation,
		"apps",
		"deployments",
		"apps/v1",
		"Deployment",
		"default",
		name,
		map[string]any{"spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": labels}, "template": template(image, labels)}},
	)
}

// makeSet is what the target's controller makes of a Deployment.
func (s *site) makeSet(name, hash, image string) store.Key {
	s.t.Helper()
	labels := map[string]any{"app": name, "pod-template-hash": hash}
	set := owned(s.uid("apps", "deployments", "default", name))
	meta := set["metadata"].(map[string]any)
	meta["labels"] = labels
	meta["annotations"] = map[string]any{
		"deployment.kubernetes.io/desired-replicas": "1",
		"deployment.kubernetes.io/max-replicas":     "2",
		"deployment.kubernetes.io/revision":         "1",
	}
	set["spec"] = map[string]any{
		"replicas": 1,
		"selector": map[string]any{"matchLabels": labels},
		"template": template(image, labels),
	}
	s.api.Put("apps/v1", "ReplicaSet", "default", name+"-"+hash, set)
	k := store.Key{Space: space, Group: "apps", Resource: "replicasets", Namespace: "default", Name: name + "-" + hash}
	eventually(s.t, "the ReplicaSet is reported", func() bool { return s.report(k) != nil })
	return k
}

// object is the associated object of a report, completed from a desired version where it has to be.
func (s *site) object(k store.Key, from store.Entry) (out map[string]any, short bool) {
	s.t.Helper()
	r := s.report(k)
	raw := []byte(r.Object)
	if short = r.Of != ""; short {
		source, ok := replicasetdiff.Of(from.Body, r.OriginUID, k)
		if !ok || source.Name != r.Of {
			s.t.Fatalf("%s is not told against %s", dump(r), from.Body)
		}
		var err error
		if raw, err = source.Whole(raw); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		s.t.Fatal(err)
	}
	return out, short
}

func TestAReplicaSetIsToldWithoutWhatTheParentKnows(t *testing.T) {
	inBubble(t, aReplicaSetIsToldWithoutWhatTheParentKnows)
}

func aReplicaSetIsToldWithoutWhatTheParentKnows(t *testing.T) {
	s := newSite(t)
	first := templated(1, "web", "v1")
	s.desire(first)
	s.settled()
	<-s.observer.Ready()
	k := s.makeSet("web", "7f", "v1")
	whole, short := s.object(k, first)
	if short {
		t.Fatal("a parent that has not said that it can complete it was told less than all")
	}
	s.observer.SetForm(store.ReportsShort)
	completed, short := s.object(k, first)
	if !short || !reflect.DeepEqual(completed, whole) {
		t.Errorf("short: %v\n%v instead of\n%v", short, completed, whole)
	}
	if r := s.report(k); len(
		r.Object,
	) > len(
		`{"metadata":{"creationTimestamp":"2026-11-21T14:46:25Z","uid":"uid-400"},"spec":{"replicas":1}}`,
	) {
		t.Errorf("short is %s", r.Object)
	}

	// Another version: what belongs to the old one is told whole from then on, and what is made of
	// the new one is short.
	second := templated(2, "web", "v2")
	s.desire(second)
	eventually(t, "the older ReplicaSet is told whole", func() bool { return s.report(k).Of == "" })
	if again, _ := s.object(k, second); !reflect.DeepEqual(again, whole) {
		t.Errorf("told as %v instead of %v", again, whole)
	}
	s.settled()
	next := s.makeSet("web", "8e", "v2")
	eventually(t, "the new one is told short", func() bool { return s.report(next).Of != "" })

	// Back again, and to a parent that reads no short ones.
	third := templated(3, "web", "v1")
	s.desire(third)
	eventually(
		t,
		"the older one is the present one again",
		func() bool { return s.report(k).Of != "" && s.report(next).Of == "" },
	)
	s.observer.SetForm(store.ReportsWhole)
	if s.report(k).Of != "" {
		t.Error("still short")
	}
}

func TestTheFormOfReportsSurvivesARestart(t *testing.T) {
	inBubble(t, theFormOfReportsSurvivesARestart)
}

func theFormOfReportsSurvivesARestart(t *testing.T) {
	s := newSite(t)
	d := templated(1, "web", "v1")
	s.identity.welcomed("site-1", store.ReportsShort)
	s.observer.SetForm(s.identity.reads())
	s.desire(d)
	s.settled()
	<-s.observer.Ready()
	k := s.makeSet("web", "7f", "v1")
	eventually(t, "told short", func() bool { return s.report(k).Of != "" && s.observer.Waiting() == 0 })
	before := s.observer.Feed().Root()
	s.restart(false)
	<-s.observer.Ready()
	if s.observer.Feed().Root() != before {
		t.Errorf("told as %s after a restart", dump(s.report(k)))
	}
}
