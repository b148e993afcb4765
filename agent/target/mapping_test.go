package target

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

const marked = `"annotations":{"skerry.dev/namespace-prefix":"shop-"}`

// TestBodyThere: what names the space's namespaces names those of the cluster; what is nobody's, or Kubernetes' own, stays.
func TestBodyThere(t *testing.T) {
	cases := map[string]struct {
		key      store.Key
		in, want string
	}{
		"namespace": {store.Key{Resource: "namespaces", Name: "web"},
			`{"metadata":{"name":"web","labels":{"kubernetes.io/metadata.name":"web","a":"web"}}}`,
			`{"metadata":{"name":"shop-web","labels":{"kubernetes.io/metadata.name":"shop-web","a":"web"},` + marked + `}}`},
		"numbers": {store.Key{Resource: "configmaps", Namespace: "web", Name: "c"},
			`{"metadata":{"name":"c","namespace":"web"},"spec":{"n":9007199254740993}}`,
			`{"metadata":{"name":"c","namespace":"shop-web",` + marked + `},"spec":{"n":9007199254740993}}`},
		"definition": {store.Key{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "w.x.org"},
			`{"metadata":{"name":"w.x.org"}}`, `{"metadata":{"name":"w.x.org",` + marked + `}}`},
		"policy": {store.Key{Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: "web", Name: "p"},
			`{"metadata":{"name":"p"},"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"db","team":"db"}}},
				{"ipBlock":{}}]}],"egress":[{"to":[{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In",
				"values":["db","kube-system"]},{"key":"team","operator":"In","values":["db"]}]}}]},{}]}}`,
			`{"metadata":{"name":"p","namespace":"shop-web",` + marked + `},"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchLabels":{
				"kubernetes.io/metadata.name":"shop-db","team":"db"}}},{"ipBlock":{}}]}],"egress":[{"to":[{"namespaceSelector":{"matchExpressions":[
				{"key":"kubernetes.io/metadata.name","operator":"In","values":["shop-db","kube-system"]},{"key":"team","operator":"In","values":["db"]}]}}]},{}]}}`},
		"binding": {store.Key{Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: "web", Name: "b"},
			`{"metadata":{"name":"b"},"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"db"},{"kind":"Group","name":"system:serviceaccounts:db"},
				{"kind":"User","name":"system:serviceaccount:db:a"},{"kind":"User","name":"db"},{"kind":"ServiceAccount","name":"k","namespace":"kube-system"}]}`,
			`{"metadata":{"name":"b","namespace":"shop-web",` + marked + `},"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"shop-db"},
				{"kind":"Group","name":"system:serviceaccounts:shop-db"},{"kind":"User","name":"system:serviceaccount:shop-db:a"},
				{"kind":"User","name":"db"},{"kind":"ServiceAccount","name":"k","namespace":"kube-system"}]}`},
		"affinity": {store.Key{Group: "apps", Resource: "deployments", Namespace: "web", Name: "d"},
			`{"metadata":{"name":"d"},"spec":{"template":{"spec":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
				{"weight":1,"podAffinityTerm":{"namespaces":["db"]}}]}}}}}}`,
			`{"metadata":{"name":"d","namespace":"shop-web",` + marked + `},"spec":{"template":{"spec":{"affinity":{"podAntiAffinity":{
				"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"namespaces":["shop-db"]}}]}}}}}}`},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Mapping("shop-").BodyThere(test.key, []byte(test.in))
			if err != nil || !reflect.DeepEqual(decoded(t, string(got)), decoded(t, test.want)) {
				t.Fatalf("%s %v\nwant %s", got, err, test.want)
			}
			if strings.Contains(test.in, "9007199254740993") && !strings.Contains(string(got), "9007199254740993") {
				t.Errorf("a number is another one: %s", got)
			}
			back, err := Mapping("shop-").BodyHere(test.key, got)
			if err != nil {
				t.Fatal(err)
			}
			was, is := decoded(t, test.in), decoded(t, string(back))
			delete(was, "metadata")
			delete(is, "metadata")
			if !reflect.DeepEqual(was, is) {
				t.Errorf("there and back it is %s", back)
			}
		})
	}
}

// A mark that does not count at this target goes, and a body without one is not touched.
func TestBodyThereOfNoMapping(t *testing.T) {
	k := store.Key{Resource: "configmaps", Namespace: "web", Name: "c"}
	plain := `{"metadata":{"name":"c"}, "x":1}`
	if got, err := Mapping("").BodyThere(k, []byte(plain)); err != nil || string(got) != plain {
		t.Errorf("%s %v", got, err)
	}
	if got, err := Mapping("").BodyThere(k, []byte(`{"metadata":{`+marked+`}}`)); err != nil || strings.Contains(string(got), "shop-") {
		t.Errorf("%s %v", got, err)
	}
}

func TestNamesHere(t *testing.T) {
	for there, here := range map[string]string{"shop-web": "web", "": "", "web": "-", "shop-": "-", "shopweb": "-"} {
		name, ok := Mapping("shop-").Here(there)
		if want := here != "-"; ok != want || ok && name != here {
			t.Errorf("%q is %q %v", there, name, ok)
		}
	}
	for _, k := range []store.Key{
		{Space: "s", Resource: "namespaces", Name: "web"}, {Space: "s", Resource: "pods", Namespace: "web", Name: "web"},
		{Space: "s", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "w.x.org"},
	} {
		if back, ok := Mapping("shop-").KeyHere(Mapping("shop-").KeyThere(k)); !ok || back != k {
			t.Errorf("%s comes back as %s", k, back)
		}
	}
	if _, ok := Mapping("shop-").KeyHere(store.Key{Resource: "pods", Namespace: "bank-web", Name: "p"}); ok {
		t.Error("a namespace of others is one of the space")
	}
}

func FuzzBodyThere(f *testing.F) {
	f.Add("apps/deployments", `{"metadata":{"name":"d"},"spec":{"template":{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"namespaces":["a"]}]}}}}}}`)
	f.Add("rbac.authorization.k8s.io/rolebindings", `{"metadata":{},"subjects":[{"kind":"Group","name":"system:serviceaccounts:a"}]}`)
	f.Add("networking.k8s.io/networkpolicies", `{"metadata":{"annotations":null},"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","values":["a"]}]}}]}]}}`)
	f.Add("/namespaces", `{"metadata":{"labels":{"kubernetes.io/metadata.name":1}}}`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		group, resource, _ := strings.Cut(kind, "/")
		k := store.Key{Group: group, Resource: resource, Namespace: "n", Name: "x"}
		if k.Class() == store.ClassNamespace {
			k.Namespace = ""
		}
		there, err := Mapping("shop-").BodyThere(k, []byte(body))
		if err != nil {
			return
		}
		var o Object
		if json.Unmarshal(there, &o) == nil && (o.Mapping() != "shop-" || o.Metadata.Namespace != Mapping("shop-").There(k.Namespace)) {
			t.Errorf("%s", there)
		}
		if _, err := Mapping("shop-").BodyHere(k, there); err != nil {
			t.Error(err)
		}
	})
}
