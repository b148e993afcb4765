package apply

import (
	"encoding/json"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// callers lead away from one Service, and from Pods with one label.
type callers struct{}

func (callers) Leaving(namespace string, pods map[string]string) time.Duration {
	if namespace == "app" && pods["app"] == "web" {
		return time.Second
	}
	return 0
}

func (callers) LedAway(k store.Key) bool { return k.Name == "web" }

// A Service whose callers are led away selects nobody, and is otherwise as it was.
func TestAServiceWhoseCallersAreLedAway(t *testing.T) {
	const body = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},` +
		`"spec":{"ports":[{"port":80}],"selector":{"app":"web"}}}`
	e := store.Entry{Key: store.Key{Resource: "services", Namespace: "app", Name: "web"}}
	v := variants.Variant{Body: []byte(body)}
	if err := leadAway(callers{}, e, &v); err != nil {
		t.Fatal(err)
	}
	var o struct {
		Spec struct {
			Ports    []struct{ Port int }
			Selector map[string]string
		}
	}
	if err := json.Unmarshal(v.Body, &o); err != nil || o.Spec.Selector[target.LabelLedAway] != "true" ||
		o.Spec.Selector["app"] != "web" || o.Spec.Ports[0].Port != 80 || v.Hash == (store.Hash{}) {
		t.Errorf("%s, %v", v.Body, err)
	}
	for what, k := range map[string]store.Key{
		"another Service": {Resource: "services", Namespace: "app", Name: "api"},
		"another kind":    {Resource: "configmaps", Namespace: "app", Name: "web"},
		"another group":   {Group: "serving.knative.dev", Resource: "services", Namespace: "app", Name: "web"},
	} {
		e.Key, v = k, variants.Variant{Body: []byte(body)}
		if err := leadAway(callers{}, e, &v); err != nil || string(v.Body) != body || v.Hash != (store.Hash{}) {
			t.Errorf("%s: %s, %v", what, v.Body, err)
		}
	}
	e.Key = store.Key{Resource: "services", Namespace: "app", Name: "web"}
	for _, broken := range []string{"{", "{}", `{"spec":{}}`, `{"spec":{"selector":1}}`} {
		v = variants.Variant{Body: []byte(broken)}
		if err := leadAway(callers{}, e, &v); err == nil {
			t.Errorf("%s is %s", broken, v.Body)
		}
	}
}

// What serves until it is deleted waits for its callers, and nothing else.
func TestWhatServesLeavesLater(t *testing.T) {
	template := &target.Object{Spec: json.RawMessage(`{"template":{"metadata":{"labels":{"app":"web"}}}}`)}
	pod := &target.Object{Metadata: target.Metadata{Labels: map[string]string{"app": "web"}}}
	at := store.Key{Namespace: "app", Name: "web"}
	for _, c := range []struct {
		group, resource string
		live            *target.Object
		want            time.Duration
	}{
		{"apps", "deployments", template, time.Second},
		{"apps", "statefulsets", template, time.Second},
		{"", "pods", pod, time.Second},
		{"", "pods", template, 0},
		{"batch", "jobs", template, 0},
		{"", "configmaps", pod, 0},
		{"apps", "deployments", &target.Object{Spec: json.RawMessage(`{`)}, 0},
	} {
		if got := leavesLater(callers{}, store.Key{Group: c.group, Resource: c.resource}, at, c.live); got != c.want {
			t.Errorf("%s/%s: %s, want %s", c.group, c.resource, got, c.want)
		}
	}
	if leavesLater(nil, store.Key{Resource: "pods"}, at, pod) != 0 {
		t.Error("without callers it waits")
	}
}
