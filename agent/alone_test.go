package agent

import (
	"bytes"
	"encoding/json"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// alone is a desired entry whose Placement says whether what belongs to the object comes back.
func alone(t *testing.T, e store.Entry, generation int64, policy string) store.Entry {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(e.Body, &o); err != nil {
		t.Fatal(err)
	}
	if policy != "" {
		metadata(o)["annotations"].(map[string]any)[target.AnnotationSync] = policy
	}
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	e.Body, e.Generation, e.Hash = body, generation, store.HashBody(generation, body)
	return e
}

// TestAssociatedNone: of an object that comes alone neither Pods nor ReplicaSets nor Warnings are
// reported, from the next version on and after a restart, and all of them when it does not any more.
func TestAssociatedNone(t *testing.T) { inBubble(t, associatedNone) }

func associatedNone(t *testing.T) {
	s := newSite(t)
	web := deployment(1, "default", "web", 1)
	s.desire(web, deployment(1, "default", "other", 1))
	s.settled()
	<-s.observer.Ready()
	born := func(name string) store.Key {
		set := s.api.Put("apps/v1", "ReplicaSet", "default", name+"-1", owned(s.uid("apps", "deployments", "default", name)))
		s.api.Put("v1", "Pod", "default", name+"-1-a", owned(set))
		return podKey("default", name+"-1-a")
	}
	pod, other := born("web"), born("other")
	set := store.Key{Space: space, Group: "apps", Resource: "replicasets", Namespace: "default", Name: "web-1"}
	eventually(t, "the Pods are reported", func() bool {
		return s.report(pod) != nil && s.report(other) != nil && s.report(set) != nil
	})
	s.desire(alone(t, web, 2, `{"whenDrifted":"Report","associated":"None"}`))
	eventually(t, "they go", func() bool { return s.report(pod) == nil && s.report(set) == nil })
	s.api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 1})
	eventually(t, "the status comes", func() bool {
		r := s.report(web.Key)
		return r != nil && bytes.Contains(r.Status, []byte("replicas"))
	})
	s.settled()
	s.restart(false)
	<-s.observer.Ready()
	if s.report(pod) != nil || s.report(set) != nil || s.report(other) == nil {
		t.Error("after a restart what comes alone brings its Pods, or another lacks them")
	}
	s.desire(alone(t, web, 3, `{"whenDrifted":"Report"}`))
	eventually(t, "they are back", func() bool { return s.report(pod) != nil && s.report(set) != nil })
}
