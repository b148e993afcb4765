package placement

import (
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/store"
)

const workload = `
spec:
  serviceName: db
  template:
    spec:
      serviceAccountName: runner
      priorityClassName: high
      imagePullSecrets: [{name: pull}]
      volumes:
      - {name: a, configMap: {name: settings}}
      - {name: b, secret: {secretName: cert}}
      - {name: c, persistentVolumeClaim: {claimName: data}}
      - {name: d, projected: {sources: [{configMap: {name: more}}, {secret: {name: key}}, {serviceAccountToken: {path: t}}]}}
      - {name: e, emptyDir: {}}
      initContainers:
      - {name: i, env: [{name: X, valueFrom: {secretKeyRef: {name: env, key: k}}}, {name: Y, value: "1"}]}
      containers:
      - {name: m, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: all}}]}
`

func TestReferences(t *testing.T) {
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(workload), &obj); err != nil {
		t.Fatal(err)
	}
	k := store.Key{Space: "s", Group: "apps", Resource: "statefulsets", Namespace: "n", Name: "x"}
	want := []string{
		"services/db",
		"priorityclasses/high",
		"serviceaccounts/runner",
		"secrets/pull",
		"configmaps/settings",
		"secrets/cert",
		"persistentvolumeclaims/data",
		"configmaps/more",
		"secrets/key",
		"secrets/env",
		"secrets/all",
	}
	got := References(k, obj)
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i, g := range got {
		namespace := "n"
		if g.Resource == "priorityclasses" {
			namespace = ""
		}
		if g.Resource+"/"+g.Name != want[i] || g.Namespace != namespace || g.Space != "s" {
			t.Errorf("%d: got %s, want %s", i, g, want[i])
		}
	}
	account := store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "n", Name: "x"}
	pulls := map[string]any{"imagePullSecrets": []any{map[string]any{"name": "pull"}}}
	if got := References(account, pulls); len(got) != 1 || got[0].Resource+"/"+got[0].Name != "secrets/pull" {
		t.Errorf("a ServiceAccount names %v", got)
	}
	k.Resource, k.Group = "widgets", "example.org"
	if got := References(k, obj); got != nil {
		t.Errorf("a kind without pods names %v", got)
	}
}

func TestExcluded(t *testing.T) {
	mirrored := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/reported-from": "a"}},
	}
	for text, c := range map[string]struct {
		k    store.Key
		obj  map[string]any
		want bool
	}{
		"root":        {store.Key{Space: "root", Resource: "configmaps", Namespace: "x", Name: "c"}, nil, true},
		"kube-system": {store.Key{Space: "s", Resource: "configmaps", Namespace: "kube-system", Name: "c"}, nil, false},
		"people":      {store.Key{Space: "s", Resource: "secrets", Namespace: "kube-users", Name: "c"}, nil, true},
		"kube-public": {store.Key{Space: "s", Resource: "configmaps", Namespace: "kube-public", Name: "c"}, nil, true},
		"who is trusted": {store.Key{Space: "s", Resource: "configmaps", Namespace: "kube-system",
			Name: "extension-apiserver-authentication"}, nil, true},
		"rights in kube-system": {store.Key{Space: "s", Group: "rbac.authorization.k8s.io", Resource: "roles",
			Namespace: "kube-system", Name: "r"}, nil, true},
		"the CA bundle": {store.Key{Space: "s", Resource: "configmaps", Namespace: "x", Name: "kube-root-ca.crt"}, nil, true},
		"a token": {store.Key{Space: "s", Resource: "secrets", Namespace: "x", Name: "t"},
			map[string]any{"type": "kubernetes.io/service-account-token"}, true},
		"a record of helm's": {store.Key{Space: "s", Resource: "secrets", Namespace: "x", Name: "sh.helm.release.v1.web.v1"},
			map[string]any{"type": "helm.sh/release.v1"}, true},
		"a secret": {
			store.Key{Space: "s", Resource: "secrets", Namespace: "x", Name: "t"},
			map[string]any{"type": "Opaque"},
			false,
		},
		"a mirrored pod":   {store.Key{Space: "s", Resource: "pods", Namespace: "x", Name: "p"}, mirrored, true},
		"a pod":            {store.Key{Space: "s", Resource: "pods", Namespace: "x", Name: "p"}, nil, false},
		"kube-monitoring":  {store.Key{Space: "s", Resource: "namespaces", Name: "kube-monitoring"}, nil, false},
		"a kube namespace": {store.Key{Space: "s", Resource: "namespaces", Name: "kube-public"}, nil, true},
		"default":          {store.Key{Space: "s", Resource: "namespaces", Name: "default"}, nil, false},
		"a default account": {store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "x", Name: "default"},
			map[string]any{"automountServiceAccountToken": true}, true},
		"a default account that pulls images": {
			store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "x", Name: "default"},
			map[string]any{"imagePullSecrets": []any{map[string]any{"name": "pull"}}}, false},
		"a default account that was placed": {
			store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "x", Name: "default"},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"skerry.dev/targets": "a"}}}, true},
		"a default account with an identity": {
			store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "x", Name: "default"},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{"iam.gke.io/gcp-service-account": "a"}}}, false},
		"a default account without a token": {
			store.Key{Space: "s", Resource: "serviceaccounts", Namespace: "x", Name: "default"},
			map[string]any{"automountServiceAccountToken": false}, false},
		"our own CRD": {store.Key{Space: "s", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: "spaces.skerry.dev"}, nil, true},
	} {
		if got := Excluded(c.k, c.obj); got != c.want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
