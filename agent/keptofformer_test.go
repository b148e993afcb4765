package agent

import (
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

// What a cluster decides when an object is made it decides anew of one that was deleted and made anew in the
// space, though its tombstone was overtaken: a Service that was headless gets an address, an Ingress that had a
// class gets the default one.
func TestWhatIsDecidedAtCreationIsDecidedAnew(t *testing.T) { inBubble(t, decidedAnew) }

func decidedAnew(t *testing.T) {
	s := newSite(t)
	s.api.Serve(targettest.Kind{Group: "networking.k8s.io", Version: "v1", Plural: "ingresses", Kind: "Ingress",
		Namespaced: true})
	addresses := map[any]any{}
	s.api.Mutate(func(plural string, o map[string]any) {
		meta, spec := o["metadata"].(map[string]any), o["spec"]
		switch of, _ := spec.(map[string]any); {
		case plural == "services" && of["type"] != "ExternalName":
			if of["clusterIP"] == nil && meta["uid"] != nil {
				of["clusterIP"] = addresses[meta["name"]]
			} else if of["clusterIP"] == nil {
				of["clusterIP"] = "10.0.0.7"
			}
			addresses[meta["name"]] = of["clusterIP"]
		case plural == "ingresses" && meta["uid"] == nil && of["ingressClassName"] == nil:
			of["ingressClassName"] = "default"
		}
	})
	service := func(generation int64, spec map[string]any) store.Entry {
		return liveAt(generation, "", "services", "v1", "Service", "default", "web", map[string]any{"spec": spec})
	}
	ingress := func(generation int64, spec map[string]any) store.Entry {
		return liveAt(generation, "networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", "default", "web",
			map[string]any{"spec": spec})
	}
	field := func(group, plural, name string) any {
		o := s.api.Object(group, plural, "default", "web")
		spec, _ := o["spec"].(map[string]any)
		return spec[name]
	}
	s.desire(service(1, map[string]any{"clusterIP": "None"}), ingress(1, map[string]any{"ingressClassName": "theirs"}))
	s.settled()
	<-s.observer.Ready()
	if got := field("", "services", "clusterIP"); got != "None" {
		t.Fatalf("a headless Service has %v", got)
	}
	s.desire(anew(service(1, map[string]any{"sessionAffinity": "None"})),
		anew(ingress(1, map[string]any{"rules": []any{}})))
	eventually(t, "the Service has an address", func() bool { return field("", "services", "clusterIP") == "10.0.0.7" })
	eventually(t, "the Ingress has the default class", func() bool {
		return field("networking.k8s.io", "ingresses", "ingressClassName") == "default"
	})
	s.settled()
	uid := s.api.Object("", "services", "default", "web")["metadata"].(map[string]any)["uid"]
	again := anew(service(2, map[string]any{"sessionAffinity": "ClientIP"}))
	s.desire(again)
	s.settled()
	if s.api.Object("", "services", "default", "web")["metadata"].(map[string]any)["uid"] != uid {
		t.Error("a change of the Service made it anew")
	}
}
