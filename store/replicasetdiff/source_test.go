package replicasetdiff_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",` +
	`"namespace":"shop"},"spec":{"replicas":3,` +
	`"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[` +
	`{"image":"example.com/web:1","name":"web","ports":[{"containerPort":8080}]},` +
	`{"image":"example.com/log:7","name":"log"}],"terminationGracePeriodSeconds":30}}}}`

var key = store.Key{Space: "shop", Group: "apps", Resource: "replicasets", Namespace: "shop",
	Name: "web-7c9f8b6d5"}

func source(t testing.TB, body string) replicasetdiff.Source {
	t.Helper()
	s, ok := replicasetdiff.Of([]byte(body), "uid-1", key)
	if !ok {
		t.Fatalf("%s is no source", body)
	}
	return s
}

// replicaSet is what a Deployment's controller makes, with one replacement.
func replicaSet(was, is string) string {
	const made = `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-7c9f8b6d5",` +
		`"namespace":"shop","creationTimestamp":"2026-11-21T14:46:25Z",` +
		`"labels":{"app":"web","pod-template-hash":"7c9f8b6d5"},` +
		`"annotations":{"deployment.kubernetes.io/desired-replicas":"3",` +
		`"deployment.kubernetes.io/max-replicas":"4","deployment.kubernetes.io/revision":"1"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1",` +
		`"kind":"Deployment","name":"web","uid":"uid-1","controller":true,"blockOwnerDeletion":true}]},` +
		`"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web",` +
		`"pod-template-hash":"7c9f8b6d5"}},"template":{"metadata":{"labels":{"app":"web",` +
		`"pod-template-hash":"7c9f8b6d5"}},"spec":{"containers":[` +
		`{"name":"web","image":"example.com/web:1","ports":[{"containerPort":8080}]},` +
		`{"name":"log","image":"example.com/log:7"}],"terminationGracePeriodSeconds":30}}}}`
	return strings.Replace(made, was, is, 1)
}

func same(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestWhatTheControllerMakesIsSaidShort(t *testing.T) {
	s := source(t, deployment)
	whole := replicaSet("", "")
	rest, ok := s.Diff([]byte(whole))
	if want := `{"metadata":{"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":3}}`; !ok ||
		string(rest) != want {
		t.Fatalf("%s, want %s", rest, want)
	}
	back, err := s.Whole(rest)
	if err != nil || !same(t, back, []byte(whole)) {
		t.Errorf("%s became %s, %v", whole, back, err)
	}
}

func TestRest(t *testing.T) {
	for _, c := range []struct{ name, was, is, rest string }{
		{"another revision", `revision":"1"`, `revision":"7"`,
			`{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"7"},` +
				`"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":3}}`},
		{"scaled down", `"spec":{"replicas":3`, `"spec":{"replicas":0`,
			`{"metadata":{"annotations":{"deployment.kubernetes.io/desired-replicas":"3",` +
				`"deployment.kubernetes.io/max-replicas":"4"},` +
				`"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":0}}`},
		{"the target's default in a list", `"image":"example.com/log:7"`,
			`"image":"example.com/log:7","stdin":false`,
			`{"metadata":{"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":3,` +
				`"template":{"spec":{"containers":[null,{"stdin":false}]}}}}`},
		{"a null says nothing", `"metadata":{"labels"`, `"metadata":{"creationTimestamp":null,"labels"`,
			`{"metadata":{"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":3}}`},
		{"an annotation of the Deployment", `"annotations":{`, `"annotations":{"team":"a",`,
			`{"metadata":{"annotations":{"team":"a"},"creationTimestamp":"2026-11-21T14:46:25Z"},"spec":{"replicas":3}}`},
		{"an older version", `web:1`, `web:0`, ""},
		{"a container more", `{"name":"web"`, `{"name":"proxy"},{"name":"web"`, ""},
		{"a label less", `"labels":{"app":"web",`, `"labels":{`, ""},
		{"another hash than the name says",
			`{"labels":{"app":"web","pod-template-hash":"7c9f8b6d5"`,
			`{"labels":{"app":"web","pod-template-hash":"other"`, ""},
		{"another owner", `uid-1`, `uid-2`, ""},
		{"no annotations", `"annotations"`, `"others"`, ""},
		{"a list that became an object", `"ports":[{"containerPort":8080}]`, `"ports":{}`, ""},
	} {
		s, whole := source(t, deployment), replicaSet(c.was, c.is)
		rest, ok := s.Diff([]byte(whole))
		if string(rest) != c.rest || ok != (c.rest != "") {
			t.Errorf("%s: %s", c.name, rest)
		}
		if !ok {
			continue
		}
		back, err := s.Whole(rest)
		if err != nil || !same(t, back, []byte(strings.Replace(whole, `"creationTimestamp":null,`,
			"", 1))) {
			t.Errorf("%s: %s became %s, %v", c.name, whole, back, err)
		}
	}
}

func TestSourceNamesWhatItStandsFor(t *testing.T) {
	name := source(t, deployment).Name
	if again := source(t, strings.Replace(deployment, `"replicas":3`, `"replicas":9`,
		1)); again.Name != name || len(name) != 8 {
		t.Errorf("%q became %q when only replicas changed", name, again.Name)
	}
	for _, change := range [][2]string{{"web:1", "web:2"},
		{`"matchLabels":{"app":"web"}`, `"matchLabels":{"app":"other"}`}, {"apps/v1", "apps/v2"}} {
		if other := source(t, strings.Replace(deployment, change[0], change[1],
			1)); other.Name == name {
			t.Errorf("%s for %s has the same name", change[1], change[0])
		}
	}
}

func TestNoSource(t *testing.T) {
	pod := key
	pod.Resource = "pods"
	for _, k := range []store.Key{pod, {Group: "apps", Resource: "replicasets", Name: "plain"},
		{Group: "apps", Resource: "replicasets", Name: "-x"}} {
		if _, ok := replicasetdiff.Of([]byte(deployment), "u", k); ok {
			t.Errorf("%s has a source", k)
		}
	}
	for _, body := range []string{"", "[]", `{"kind":"Deployment"}`,
		strings.Replace(deployment, "Deployment", "Other",
			1), `{"kind":"Deployment","spec":{"selector":1,"template":{}}}`} {
		if _, ok := replicasetdiff.Of([]byte(body), "u", key); ok {
			t.Errorf("%s is a source", body)
		}
	}
}

func TestWholeRefusesWhatIsNoRest(t *testing.T) {
	for _, rest := range []string{"", "[]", "{}", `{"spec":{}}`, `{"spec":{"replicas":"x"}}`} {
		if got, err := source(t, deployment).Whole([]byte(rest)); err == nil {
			t.Errorf("%s became %s", rest, got)
		}
	}
}

// FuzzRest holds that a ReplicaSet comes back as it was, whatever it is, and that no rest breaks
// Whole.
func FuzzRest(f *testing.F) {
	f.Add(replicaSet("", ""), `{"spec":{"replicas":1}}`)
	f.Add(replicaSet(`web:1`, `web:2`),
		fmt.Sprintf(`{"spec":{"replicas":1,"template":[]},"metadata":%s}`, replicaSet("", "")))
	f.Fuzz(func(t *testing.T, object, rest string) {
		s := source(t, deployment)
		if out, err := s.Whole([]byte(rest)); err == nil && !json.Valid(out) {
			t.Errorf("%s is no JSON", out)
		}
		short, ok := s.Diff([]byte(object))
		if !ok {
			return
		}
		whole, err := s.Whole(short)
		if err != nil {
			t.Fatalf("%s from %s: %v", short, object, err)
		}
		again, ok := s.Diff(whole)
		if !ok || string(again) != string(short) {
			t.Errorf("%s, then %s", short, again)
		}
	})
}
