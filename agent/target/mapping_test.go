package target

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	o, err := Whole([]byte(text)) // which keeps large numbers apart
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// TestBodyThere: what names the space's namespaces names those of the cluster; what is nobody's, or
// Kubernetes' own, stays. In the texts META is the mark, and every name with a star has the prefix
// there.
func TestBodyThere(t *testing.T) {
	in := func(group, resource string) store.Key {
		return store.Key{Group: group, Resource: resource, Namespace: "web", Name: "x"}
	}
	cases := map[string]struct {
		key  store.Key
		text string
	}{
		"namespace": {store.Key{Resource: "namespaces", Name: "web"}, `{"metadata": {"name": "*web",
			"labels": {"kubernetes.io/metadata.name": "*web", "a": "web"}, META}}`},
		"numbers": {in("", "configmaps"), `{"metadata": {"namespace": "*web", META},
			"spec": {"n": 9007199254740993}}`},
		"definition": {store.Key{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
			`{"metadata": {META}}`},
		"policy": {in("networking.k8s.io", "networkpolicies"), `{"metadata": {"namespace": "*web", META},
			"spec": {
				"ingress": [{"from": [{"ipBlock": {}}, {"namespaceSelector": {"matchLabels": {
					"kubernetes.io/metadata.name": "*db", "team": "db"}}}]}],
				"egress": [{}, {"to": [{"namespaceSelector": {"matchExpressions": [
					{"key": "kubernetes.io/metadata.name", "values": ["*db", "kube-system"]},
					{"key": "team", "values": ["db"]}]}}]}]}}`},
		"binding": {in("rbac.authorization.k8s.io", "rolebindings"),
			`{"metadata": {"namespace": "*web", META}, "subjects": [
				{"kind": "ServiceAccount", "name": "a", "namespace": "*db"},
				{"kind": "ServiceAccount", "name": "a", "namespace": "kube-system"},
				{"kind": "Group", "name": "system:serviceaccounts:*db"}, {"kind": "Group", "name": "db"},
				{"kind": "User", "name": "system:serviceaccount:*db:a"}, {"kind": "User", "name": "db"}]}`},
		"claim": {in("", "persistentvolumeclaims"), `{"metadata": {"namespace": "*web", META},
			"spec": {"dataSourceRef": {"namespace": "*db", "name": "db"}}}`},
		"affinity": {in("apps", "deployments"), `{"metadata": {"namespace": "*web", META},
			"spec": {"template": {"spec": {"affinity": {
				"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaceSelector":
					{"matchLabels": {"kubernetes.io/metadata.name": "*db"}}}]},
				"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
					{"weight": 1, "podAffinityTerm": {"namespaces": ["*db"]}}]}}}}}}`},
	}
	const mark = `"annotations": {"skerry.dev/namespace-prefix": "shop-"}`
	texts := func(text string) (here, there string) {
		here = strings.NewReplacer("*", "", ", META", "", "META", "").Replace(text)
		return here, strings.NewReplacer("*", "shop-", "META", mark).Replace(text)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			here, there := texts(test.text)
			got, err := Mapping("shop-").BodyThere(test.key, []byte(here))
			if err != nil || !reflect.DeepEqual(decoded(t, string(got)), decoded(t, there)) {
				t.Fatalf("%s %v\nwant %s", got, err, there)
			}
			back, err := Mapping("shop-").BodyHere(test.key, got)
			if err != nil {
				t.Fatal(err)
			}
			was, is := decoded(t, here), decoded(t, string(back))
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
	marked := `{"metadata":{"annotations":{"skerry.dev/namespace-prefix":"shop-"}}}`
	got, err := Mapping("").BodyThere(k, []byte(marked))
	if err != nil || strings.Contains(string(got), "shop-") {
		t.Errorf("%s %v", got, err)
	}
}

// TestBodyThereOfTheSystem: what is in the kube-system of a space has another namespace at the cluster,
// and names those of the space and of the cluster as they are.
func TestBodyThereOfTheSystem(t *testing.T) {
	m := Mapping(store.SystemPrefix("shop"))
	k := store.Key{Space: "shop", Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: "kube-system",
		Name: "p"}
	text := `{"metadata":{"annotations":{"skerry.dev/namespace-prefix":"` + string(m) + `"},"namespace":"%s"},` +
		`"spec":{"ingress":[{"from":[{"namespaceSelector":{"matchExpressions":[` +
		`{"key":"kubernetes.io/metadata.name","operator":"In","values":["web","kube-system"]}]}}]}]}}`
	got, err := m.BodyThere(k, fmt.Appendf(nil, text, "kube-system"))
	if want := fmt.Sprintf(text, m.There("kube-system")); err != nil || string(got) != want {
		t.Errorf("%s %v\nwant %s", got, err, want)
	}
}

func TestNamesHere(t *testing.T) {
	cases := map[string]string{"shop-web": "web", "": "", "web": "-", "shop-": "-", "shopweb": "-"}
	for there, here := range cases {
		name, ok := Mapping("shop-").Here(there)
		if want := here != "-"; ok != want || ok && name != here {
			t.Errorf("%q is %q %v", there, name, ok)
		}
	}
	for _, k := range []store.Key{
		{Space: "s", Resource: "namespaces", Name: "web"},
		{Space: "s", Resource: "pods", Namespace: "web", Name: "web"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "w.x.org"},
	} {
		if back, ok := Mapping("shop-").KeyHere(Mapping("shop-").KeyThere(k)); !ok || back != k {
			t.Errorf("%s comes back as %s", k, back)
		}
	}
	others := store.Key{Resource: "pods", Namespace: "bank-web", Name: "p"}
	if _, ok := Mapping("shop-").KeyHere(others); ok {
		t.Error("a namespace of others is one of the space")
	}
}

func FuzzBodyThere(f *testing.F) {
	f.Add("apps/deployments", `{"metadata":{},"spec":{"template":{"spec":{"affinity":{"podAffinity":
		{"requiredDuringSchedulingIgnoredDuringExecution":[{"namespaces":["a"]}]}}}}}}`)
	f.Add("rbac.authorization.k8s.io/rolebindings",
		`{"metadata":{},"subjects":[{"kind":"Group","name":"system:serviceaccounts:a"}]}`)
	f.Add("networking.k8s.io/networkpolicies", `{"metadata":{"annotations":null},"spec":{"ingress":
		[{"from":[{"namespaceSelector":{"matchExpressions":
		[{"key":"kubernetes.io/metadata.name","values":["a"]}]}}]}]}}`)
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
		if json.Unmarshal(there, &o) != nil {
			return
		}
		if o.Mapping() != "shop-" || o.Metadata.Namespace != Mapping("shop-").There(k.Namespace) {
			t.Errorf("%s", there)
		}
		if _, err := Mapping("shop-").BodyHere(k, there); err != nil {
			t.Error(err)
		}
	})
}
