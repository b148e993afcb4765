package upsync

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

func TestWhatNeverComesIsRefused(t *testing.T) {
	labelled := &variant.Selector{MatchLabels: map[string]string{"a": "b"}}
	for _, tc := range []struct {
		clause Clause
		want   string // of the first problem; empty where there is none
	}{
		{Clause{Resources: []string{"configmaps"}}, ""},
		{Clause{APIVersion: "v1", Resources: []string{"secrets"}, Names: []string{"a"}}, ""},
		{Clause{APIVersion: "v1", Resources: []string{"secrets"}, LabelSelector: labelled}, ""},
		{Clause{APIVersion: "cert-manager.io/v1", Resources: []string{"certificates"}}, ""},
		{Clause{APIVersion: "gateway.networking.k8s.io/v1", Resources: []string{"gateways"}}, ""},
		{Clause{Resources: []string{"secrets"}}, "f[0]: a clause for secrets needs names or labelSelector"},
		{Clause{Resources: []string{"secrets"}, LabelSelector: &variant.Selector{}}, "f[0]: a clause for secrets"},
		{Clause{Resources: []string{"serviceaccounts"}}, "f[0].resources[0]: serviceaccounts cannot be brought"},
		{Clause{Resources: []string{"configmaps", "pods"}}, "f[0].resources[1]: pods cannot be brought"},
		{Clause{Resources: []string{"*"}}, `f[0].resources[0]: "*" is no resource`},
		{Clause{Resources: []string{"secrets/x"}, Names: []string{"a"}}, `f[0].resources[0]: "secrets/x" is no resource`},
		{Clause{APIVersion: "rbac.authorization.k8s.io/v1", Resources: []string{"roles"}}, "roles.rbac.authorization.k8s.io"},
		{Clause{APIVersion: "apps/v1", Resources: []string{"deployments"}}, "deployments.apps cannot be brought"},
		{Clause{APIVersion: "apiextensions.k8s.io/v1", Resources: []string{"customresourcedefinitions"}}, "cannot be brought"},
		{Clause{APIVersion: "skerry.dev/v1alpha1", Resources: []string{"placements"}}, "what skerry.dev serves"},
		{Clause{APIVersion: "upsync.skerry.dev/v1", Resources: []string{"secrets"}}, "what skerry.dev serves"},
		{Clause{APIVersion: "a/b/c", Resources: []string{"x"}}, "f[0].apiVersion"},
		{Clause{APIVersion: "a.example.com/", Resources: []string{"x"}}, "f[0].apiVersion"},
		{Clause{APIVersion: "v1"}, "f[0].resources: at least one"},
		{Clause{Resources: []string{"configmaps"}, Namespaces: []string{"kube-system"}}, "f[0].namespaces[0]"},
		{Clause{Resources: []string{"configmaps"}, LabelSelector: &variant.Selector{
			MatchExpressions: []variant.Requirement{{Key: "a", Operator: "Like"}}}}, "f[0].labelSelector"},
	} {
		problems := Check("f", []Clause{tc.clause})
		switch {
		case tc.want == "" && len(problems) > 0:
			t.Errorf("%+v is refused: %s", tc.clause, problems[0])
		case tc.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Error(), tc.want)):
			t.Errorf("%+v: %v, want %q", tc.clause, problems, tc.want)
		}
	}
	if problems := Check("f", make([]Clause, MaxClauses+1)); len(problems) != 1 {
		t.Errorf("%d problems of too many clauses", len(problems))
	}
}

func TestWhatNeverComesWhateverSelectsIt(t *testing.T) {
	secret := store.Key{Space: "s", Resource: "secrets", Namespace: "app", Name: "a"}
	system, cluster := secret, secret
	system.Namespace, cluster.Namespace = "kube-system", ""
	for _, tc := range []struct {
		key   store.Key
		kind  string
		comes bool
	}{
		{secret, "Opaque", true},
		{secret, "", true},
		{secret, "kubernetes.io/tls", true},
		{secret, "kubernetes.io/service-account-token", false},
		{secret, "bootstrap.kubernetes.io/token", false},
		{secret, "helm.sh/release.v1", false},
		{secret, "skerry.dev/x", false},
		{system, "Opaque", false},
		{cluster, "Opaque", false},
		{store.Key{Space: "s", Resource: "configmaps", Namespace: "app", Name: "kube-root-ca.crt"}, "", false},
		{store.Key{Space: "s", Resource: "configmaps", Namespace: "app", Name: "a"}, "", true},
		{store.Key{Space: "s", Resource: "pods", Namespace: "app", Name: "a"}, "", false},
		{store.Key{Space: "s", Group: "a.example.com", Resource: "as", Namespace: "app", Name: "a"}, "skerry.dev/x", true},
	} {
		if why := Refuses(tc.key, tc.kind); (why == "") != tc.comes {
			t.Errorf("%s of type %q: %q", tc.key, tc.kind, why)
		}
	}
}

func TestSelects(t *testing.T) {
	rule, problems := Parse([]byte(`{"metadata":{"annotations":{"skerry.dev/origin-uid":"u"}},"spec":{"objects":[
		{"apiVersion":"v1","resources":["secrets"],"namespaces":["app"],"names":["a"]},
		{"apiVersion":"x.example.com/v2","resources":["xs"],"labelSelector":{"matchLabels":{"l":"1"}}}]}}`))
	if len(problems) > 0 || rule.UID != "u" {
		t.Fatalf("%+v %v", rule, problems)
	}
	for _, tc := range []struct {
		key     store.Key
		labels  map[string]string
		version string
	}{
		{store.Key{Resource: "secrets", Namespace: "app", Name: "a"}, nil, "v1"},
		{store.Key{Resource: "secrets", Namespace: "app", Name: "b"}, nil, ""},
		{store.Key{Resource: "secrets", Namespace: "other", Name: "a"}, nil, ""},
		{store.Key{Resource: "configmaps", Namespace: "app", Name: "a"}, nil, ""},
		{store.Key{Group: "x.example.com", Resource: "xs", Namespace: "n", Name: "n"}, map[string]string{"l": "1"}, "v2"},
		{store.Key{Group: "x.example.com", Resource: "xs", Namespace: "n", Name: "n"}, map[string]string{"l": "2"}, ""},
		{store.Key{Group: "x.example.com", Resource: "xs", Name: "n"}, map[string]string{"l": "1"}, ""},
	} {
		if version, ok := rule.Selects(tc.key, tc.labels); version != tc.version || ok != (version != "") {
			t.Errorf("%s: %q %v", tc.key, version, ok)
		}
	}
	for _, body := range []string{`{`, `{"spec":{"objects":[{"resources":["roles"]}]}}`, `{"spec":{"objects":"x"}}`} {
		if rule, problems := Parse([]byte(body)); rule != nil || len(problems) == 0 {
			t.Errorf("%s is understood as %+v", body, rule)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, k := range []store.Key{
		{Space: "s", Resource: "secrets", Namespace: "app", Name: "a"},
		{Space: "s", Group: "x.example.com", Resource: "xs", Namespace: "app", Name: "a.b"},
	} {
		up := Key(k)
		if back, ok := Object(up); !ok || back != k || up == k || up.Validate() != nil || up.Class() != store.ClassOther {
			t.Errorf("%s is reported as %s, which is %s", k, up, back)
		}
		if _, ok := Object(k); ok {
			t.Errorf("%s is the key of such a report", k)
		}
	}
	if !RuleKey("s", "p").IsUpsync() {
		t.Error("the key of a rule is none")
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var all []Left
	for i := range 2 * MaxProblems {
		all = append(all, Left{Object: fmt.Sprintf("secrets/app/%03d", 99-i)})
	}
	if got := Bounded(all); len(got) != MaxProblems || got[0].Object != "secrets/app/060" {
		t.Errorf("%d, the first is %s", len(got), got[0].Object)
	}
}
