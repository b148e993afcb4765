package observe

import (
	"encoding/json"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

func TestTranslate(t *testing.T) {
	applied := &record{generation: 10, targetGeneration: 3}
	cases := []struct{ name, in, want string }{
		{"observed", `{"observedGeneration":3}`, `{"observedGeneration":10}`},
		{"observed, and changed by another since", `{"observedGeneration":5}`, `{"observedGeneration":10}`},
		{"not observed yet", `{"observedGeneration":2}`, `{"observedGeneration":9}`},
		{
			"conditions",
			`{"conditions":[{"observedGeneration":3,"type":"A"},{"type":"B"}]}`,
			`{"conditions":[{"observedGeneration":10,"type":"A"},{"type":"B"}]}`,
		},
		{"none", `{"phase":"Bound"}`, `{"phase":"Bound"}`},
		{"of another type", `{"observedGeneration":"3"}`, `{"observedGeneration":"3"}`},
		{
			"conditions of another type",
			`{"conditions":{"observedGeneration":3}}`,
			`{"conditions":{"observedGeneration":3}}`,
		},
	}
	for _, c := range cases {
		got, err := translate([]byte(c.in), applied)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v", c.name, got, err)
		}
	}
	if got, err := translate([]byte(`{"observedGeneration":2}`), &record{}); err != nil ||
		string(got) != `{"observedGeneration":2}` {
		t.Errorf("a pod: %s %v", got, err)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(`{"observedGeneration":3,"conditions":[{"observedGeneration":3}]}`))
	f.Fuzz(func(t *testing.T, status []byte) {
		if !json.Valid(status) {
			return
		}
		if got, err := translate(status, &record{generation: 10, targetGeneration: 3}); err == nil && !json.Valid(got) {
			t.Errorf("%s is no JSON", got)
		}
	})
}

func TestOwnsPods(t *testing.T) {
	for k, want := range map[store.Key]bool{
		{Group: "apps", Resource: "deployments"}: true, {Group: "batch", Resource: "cronjobs"}: true,
		{Group: "example.com", Resource: "databases"}: true, {Resource: "replicationcontrollers"}: true,
		{Resource: "configmaps"}: false, {Resource: "pods"}: false,
		{Group: "rbac.authorization.k8s.io", Resource: "roles"}: false,
	} {
		if ownsPods(k) != want {
			t.Errorf("ownsPods(%s) is not %v", k, want)
		}
	}
}

func TestWhatARelayRefusesBelowIsReported(t *testing.T) {
	live := func(mark string) *target.Object {
		return &target.Object{Metadata: target.Metadata{Annotations: map[string]string{target.AnnotationRefused: mark}}}
	}
	rec := &record{below: refusedBelow(live(`{"reason":"QuotaExceeded","message":"oslo: exceeded quota"}`))}
	if e := rec.error(); e == nil || e.Reason != "QuotaExceeded" || e.Message != "oslo: exceeded quota" {
		t.Errorf("reported as %+v", e)
	}
	rec.failure = failureOf(&store.ReportError{Reason: "Forbidden"})
	if rec.error().Reason != "Forbidden" {
		t.Error("what the relay itself refuses goes first")
	}
	for _, none := range []string{"", "{", "[]", "{}"} {
		if e := refusedBelow(live(none)); e != nil {
			t.Errorf("%q is read as %+v", none, e)
		}
	}
}
