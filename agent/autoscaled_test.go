package agent

import (
	"testing"

	"skerry.dev/skerry/store"
)

func autoscaler(name string) map[string]any {
	return map[string]any{"spec": map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}}
}

func TestAutoscalerOwnsReplicas(t *testing.T) { inBubble(t, autoscalerOwnsReplicas) }

func autoscalerOwnsReplicas(t *testing.T) {
	for _, delivered := range []bool{true, false} {
		s := newSite(t)
		web := func(generation int64, replicas int, paused bool) store.Entry {
			return liveAt(generation, "apps", "deployments", "apps/v1", "Deployment", "default", "web",
				map[string]any{"spec": map[string]any{"replicas": replicas, "paused": paused}})
		}
		s.desire(web(1, 3, false))
		if delivered {
			s.desire(live("autoscaling", "horizontalpodautoscalers", "autoscaling/v2",
				"HorizontalPodAutoscaler", "default", "web", autoscaler("web")))
		} else {
			s.api.Put("autoscaling/v2", "HorizontalPodAutoscaler", "default", "web", autoscaler("web"))
		}
		s.settled()
		<-s.observer.Ready()
		if s.spec("web")["replicas"] != float64(3) {
			t.Errorf("made with %v", s.spec("web"))
		}
		writes := s.writesTo("web")
		scale := func(n int) {
			s.api.PutAs("kube-controller-manager", "scale", "apps/v1", "Deployment", "default", "web",
				map[string]any{"spec": map[string]any{"replicas": n}})
			eventually(t, "the new owner is known", func() bool {
				r, _ := s.inventory.Get(web(1, 1, false).Key)
				return r.Autoscaled
			})
			s.settled()
		}
		scale(7)
		if s.spec("web")["replicas"] != float64(7) || s.writesTo("web") != writes {
			t.Errorf("delivered %v: replicas of an autoscaler were written: %v", delivered, s.spec("web"))
		}
		told := func() int64 {
			if r := s.report(web(1, 1, false).Key); r != nil && r.Filled != nil {
				if r.Filled.Replicas > 0 && r.Filled.Autoscaler != "web" {
					t.Errorf("they are said to be of autoscaler %q", r.Filled.Autoscaler)
				}
				return r.Filled.Replicas
			}
			return 0
		}
		if delivered {
			eventually(t, "the parent is told of them", func() bool { return told() == 7 })
		} else if told() != 0 {
			t.Errorf("the parent is told of %d replicas, which an autoscaler of the site decides about", told())
		}
		s.desire(web(2, 4, true))
		s.settled()
		if spec := s.spec("web"); spec["replicas"] != float64(7) || spec["paused"] != true {
			t.Errorf("delivered %v: after an update %v", delivered, spec)
		}
		s.api.PutAs("kubectl", "", "apps/v1", "Deployment", "default", "web",
			map[string]any{"spec": map[string]any{"paused": false}})
		eventually(t, "drift of another field is set back", func() bool { return s.spec("web")["paused"] == true })
		if s.spec("web")["replicas"] != float64(7) {
			t.Errorf("delivered %v: setting back wrote replicas: %v", delivered, s.spec("web"))
		}
		s.api.Remove("autoscaling", "horizontalpodautoscalers", "default", "web")
		if !delivered {
			s.desire(web(3, 5, true))
			s.settled()
			if s.spec("web")["replicas"] != float64(5) {
				t.Errorf("without an autoscaler: %v", s.spec("web"))
			}
		}
	}
}

// The replicas of a custom resource are in the field that its definition names for the scale subresource.
func TestAutoscalerOwnsReplicasOfACustomResource(t *testing.T) {
	inBubble(t, autoscalerOwnsReplicasOfACustomResource)
}

func autoscalerOwnsReplicasOfACustomResource(t *testing.T) {
	for _, path := range []string{".spec.replicas", ".spec.pool.size"} {
		s := newSite(t)
		s.desire(live("apiextensions.k8s.io", "customresourcedefinitions", "apiextensions.k8s.io/v1",
			"CustomResourceDefinition", "", "fleets.example.com", map[string]any{"spec": map[string]any{
				"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "fleets", "kind": "Fleet"},
				"versions": []any{map[string]any{"name": "v1",
					"subresources": map[string]any{"scale": map[string]any{"specReplicasPath": path}}}},
			}}))
		fleet := func(generation int64, size int, color string) store.Entry {
			return liveAt(generation, "example.com", "fleets", "example.com/v1", "Fleet", "default", "web",
				map[string]any{"spec": map[string]any{"color": color, "replicas": size, "pool": map[string]any{"size": size}}})
		}
		s.desire(fleet(1, 3, "red"), live("autoscaling", "horizontalpodautoscalers", "autoscaling/v2",
			"HorizontalPodAutoscaler", "default", "web", map[string]any{"spec": map[string]any{
				"scaleTargetRef": map[string]any{"apiVersion": "example.com/v1", "kind": "Fleet", "name": "web"}}}))
		s.settled()
		<-s.observer.Ready()
		spec := func() map[string]any {
			return s.api.Object("example.com", "fleets", "default", "web")["spec"].(map[string]any)
		}
		size := func() any {
			if path == ".spec.replicas" {
				return spec()["replicas"]
			}
			return spec()["pool"].(map[string]any)["size"]
		}
		scaled := map[string]any{"replicas": 7}
		if path != ".spec.replicas" {
			scaled = map[string]any{"pool": map[string]any{"size": 7}}
		}
		s.api.PutAs("kube-controller-manager", "scale", "example.com/v1", "Fleet", "default", "web",
			map[string]any{"spec": scaled})
		eventually(t, path+": the parent is told of them", func() bool {
			r := s.report(fleet(1, 1, "").Key)
			return r != nil && r.Filled != nil && r.Filled.Replicas == 7 && r.Filled.Autoscaler == "web"
		})
		s.desire(fleet(2, 4, "blue"))
		s.settled()
		if size() != float64(7) || spec()["color"] != "blue" {
			t.Errorf("%s: after an update %v", path, spec())
		}
	}
}

// An autoscaler leaves a workload with zero replicas alone: the object starts and stops it.
func TestObjectStartsAndStopsWhatIsAutoscaled(t *testing.T) {
	inBubble(t, objectStartsAndStopsWhatIsAutoscaled)
}

func objectStartsAndStopsWhatIsAutoscaled(t *testing.T) {
	for _, fromZero := range []bool{false, true} {
		s := newSite(t)
		web := func(generation int64, replicas int) store.Entry {
			return liveAt(generation, "apps", "deployments", "apps/v1", "Deployment", "default", "web",
				map[string]any{"spec": map[string]any{"replicas": replicas}})
		}
		hpa := autoscaler("web")
		if fromZero {
			hpa["spec"].(map[string]any)["minReplicas"] = 0
		}
		s.desire(live("autoscaling", "horizontalpodautoscalers", "autoscaling/v2",
			"HorizontalPodAutoscaler", "default", "web", hpa))
		s.desire(web(1, 0))
		s.settled()
		for generation, replicas := range []int{1, 0, 2} {
			s.desire(web(int64(generation)+2, replicas))
			s.settled()
			want := float64(replicas)
			if fromZero {
				want = 0
			}
			if r := s.report(web(1, 1).Key); r != nil && r.Filled != nil && replicas == 0 {
				t.Errorf("from zero %v: told of %d replicas of what is stopped", fromZero, r.Filled.Replicas)
			}
			if got := s.spec("web")["replicas"]; got != want {
				t.Errorf("from zero %v: %v replicas are desired, %v are there", fromZero, replicas, got)
			}
		}
	}
}
