package agent

import (
	"testing"

	"skerry.dev/skerry/store"
)

// controlled are the owners of an object that this one controls.
func controlled(kind, name, uid string) map[string]any {
	return map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}}}}
}

// TestAPodThatAControllerTakesOver: a placed Pod that a placed ReplicaSet takes over is reported with it. When it
// lets go, that is reported. When it deletes the Pod, it is not made again, also after a restart.
func TestAPodThatAControllerTakesOver(t *testing.T) { inBubble(t, aPodThatAControllerTakesOver) }

func aPodThatAControllerTakesOver(t *testing.T) {
	s := newSite(t)
	rs := live("apps", "replicasets", "apps/v1", "ReplicaSet", "app", "web", map[string]any{"spec": map[string]any{}})
	web := deployment(1, "app", "deep", 1)
	pod := func(name string) store.Entry {
		return live("", "pods", "v1", "Pod", "app", name, map[string]any{"spec": map[string]any{}})
	}
	first, second, third, foreign := pod("first"), pod("second"), pod("third"), pod("foreign")
	s.desire(namespace("app"), rs, web, first, second, third, foreign)
	s.settled()
	<-s.observer.Ready()
	by := func(e store.Entry) *store.Controller {
		if r := s.report(e.Key); r != nil && r.Filled != nil {
			return r.Filled.Controller
		}
		return nil
	}
	take := func(name, kind, owner, uid string) {
		s.api.Edit("kube-controller-manager", "", "pods", "app", name, controlled(kind, owner, uid))
	}
	// The third comes by a ReplicaSet that is born there, and is seen before that is.
	take("third", "ReplicaSet", "deep-1", "uid-deep-1")
	for _, name := range []string{"first", "second"} {
		take(name, "ReplicaSet", "web", s.uid("apps", "replicasets", "app", "web"))
	}
	take("foreign", "ReplicaSet", "theirs", "uid-theirs")
	is := store.Controller{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "source-replicasets-web"}
	eventually(t, "they are taken over", func() bool {
		a, b := by(first), by(second)
		return a != nil && b != nil && *a == is && *b == is
	})
	more := controlled("Deployment", "deep", s.uid("apps", "deployments", "app", "deep"))
	more["metadata"].(map[string]any)["uid"] = "uid-deep-1"
	s.api.Put("apps/v1", "ReplicaSet", "app", "deep-1", more)
	eventually(t, "the third is, too", func() bool {
		c := by(third)
		return c != nil && c.Kind == "Deployment" && c.Name == "deep" && c.UID == "source-deployments-deep"
	})
	if c := by(foreign); c != nil {
		t.Errorf("what is not of the space has taken over: %+v", c)
	}

	s.api.Edit("kube-controller-manager", "", "pods", "app", "second",
		map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	eventually(t, "it is let go", func() bool { return by(second) == nil })
	s.api.Remove("", "pods", "app", "second")
	s.api.Remove("", "pods", "app", "first")
	s.api.Remove("", "pods", "app", "foreign")
	eventually(t, "what nobody of the space controls is made again", func() bool { return s.exists(second) && s.exists(foreign) })
	for range 2 {
		s.settled()
		r := s.report(first.Key)
		if s.exists(first) || s.writesTo("first") != 1 || r.Error != nil || r.Applied != first.Hash.String() ||
			r.Filled == nil || !r.Filled.Ended {
			t.Errorf("what its controller has deleted: %v, %d writes, %s", s.exists(first), s.writesTo("first"), dump(r))
		}
		s.restart(true)
		<-s.observer.Ready()
	}
	// A new source is another Pod.
	s.desire(anew(first))
	s.settled()
	if r := s.report(first.Key); !s.exists(first) || r.Filled != nil {
		t.Errorf("a new source: %v, %s", s.exists(first), dump(r))
	}
}
