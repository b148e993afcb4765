package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"skerry.dev/skerry/tunnel"
)

// facts are the namespaces and the ClusterRoles of a space.
type facts struct{ namespaces, roles []string }

func (f facts) Owns(namespace string) bool      { return slices.Contains(f.namespaces, namespace) }
func (f facts) HasClusterRole(name string) bool { return slices.Contains(f.roles, name) }

func TestRightsOfASpaceEndWhereItsSiteHasOpenedThem(t *testing.T) {
	open := tunnel.Allow{Controllers: []string{"shop"}, ClusterControllers: []string{"shop"}}
	space := facts{[]string{"app", "data"}, []string{"shop-reader"}}
	rules := func(text string) string { return `{"rules":[{` + text + `}]}` }
	bind := func(kind, name, subjects string) string {
		return `{"roleRef":{"kind":"` + kind + `","name":"` + name + `"},"subjects":[` + subjects + `]}`
	}
	own := `{"kind":"ServiceAccount","name":"op","namespace":"app"}`
	good := rules(`"apiGroups":[""],"resources":["configmaps","pods"],"verbs":["get","list","watch","create"]`)
	for _, c := range []struct {
		name, space, namespace, resource, body string
		allow                                  tunnel.Allow
		says                                   string // empty for what is allowed
	}{
		{"a role", "shop", "app", "roles", good, open, ""},
		{"a cluster role", "shop", "", "clusterroles", good, open, ""},
		{"a binding", "shop", "app", "rolebindings", bind("Role", "op", own), open, ""},
		{"to another own namespace", "shop", "data", "rolebindings", bind("Role", "op", own), open, ""},
		{"of an own cluster role", "shop", "", "clusterrolebindings", bind("ClusterRole", "shop-reader", own), open, ""},
		{"without the opt-in", "shop", "app", "roles", good, tunnel.Allow{}, "controllers: [shop]"},
		{"another space", "bank", "app", "roles", good, open, "controllers: [bank]"},
		{"a prefix twin", "shop-b", "app", "roles", good, open, "controllers: [shop-b]"},
		{"the weaker opt-in alone", "shop", "", "clusterroles", good, tunnel.Allow{Controllers: []string{"*"}},
			"clusterControllers: [shop]"},
		{"every kind is no opt-in", "shop", "", "clusterrolebindings", bind("ClusterRole", "shop-reader", own),
			tunnel.Allow{Kinds: []string{"*"}}, "clusterControllers"},
		{"a namespace of the site", "shop", "theirs", "roles", good, open, "not made at the site"},
		{"wildcard verbs", "shop", "app", "roles", rules(`"apiGroups":[""],"resources":["pods"],"verbs":["*"]`),
			open, "name what is needed"},
		{"wildcard resources", "shop", "app", "roles",
			rules(`"apiGroups":["apps"],"resources":["*/scale"],"verbs":["get"]`), open, "name what is needed"},
		{"wildcard groups", "shop", "", "clusterroles",
			rules(`"apiGroups":["*"],"resources":["pods"],"verbs":["get"]`), open, "name what is needed"},
		{"escalate", "shop", "", "clusterroles",
			rules(`"apiGroups":["apps"],"resources":["deployments"],"verbs":["escalate"]`), open, "escalate"},
		{"bind", "shop", "app", "roles",
			rules(`"apiGroups":["x.io"],"resources":["roles"],"verbs":["get","bind"]`), open, "bind"},
		{"impersonate", "shop", "", "clusterroles",
			rules(`"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]`), open, "impersonate"},
		{"rights about rights", "shop", "app", "roles",
			rules(`"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["get"]`), open, "rights of others"},
		{"tokens", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]`), open, "rights of others"},
		{"paths", "shop", "", "clusterroles", rules(`"nonResourceURLs":["/metrics"],"verbs":["get"]`), open, "/metrics"},
		{"writes Services", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["services"],"verbs":["create"]`), open, "externalIPs"},
		{"writes where Pods are", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["pods/status"],"verbs":["patch"]`), open, "traffic"},
		{"writes slices", "shop", "app", "roles",
			rules(`"apiGroups":["discovery.k8s.io"],"resources":["endpointslices"],"verbs":["create"]`), open, "traffic"},
		{"reads Services", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["services"],"verbs":["get","delete"]`), open, ""},
		{"writes claims", "shop", "app", "roles",
			rules(`"apiGroups":["apps"],"resources":["statefulsets"],"verbs":["patch"]`), open, "volumeNames"},
		{"writes claims that are open", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["persistentvolumeclaims"],"verbs":["patch"]`),
			tunnel.Allow{Controllers: []string{"*"}, VolumeNames: true}, ""},
		{"aggregates", "shop", "", "clusterroles",
			`{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}}}`, open, "aggregate-to-admin"},
		{"is aggregated", "shop", "", "clusterroles", `{"aggregationRule":{"clusterRoleSelectors":[{}]}}`, open,
			"aggregationRule"},
		{"cluster-admin", "shop", "app", "rolebindings", bind("ClusterRole", "cluster-admin", own), open, "cluster-admin"},
		{"cluster-admin everywhere", "shop", "", "clusterrolebindings", bind("ClusterRole", "cluster-admin", own),
			open, "cluster-admin"},
		{"a person", "shop", "app", "rolebindings", bind("Role", "op", `{"kind":"User","name":"alice"}`), open, "alice"},
		{"everybody", "shop", "app", "rolebindings", bind("Role", "op",
			own+`,{"kind":"Group","name":"system:authenticated"}`), open, "system:authenticated"},
		{"an account of the site", "shop", "app", "rolebindings",
			bind("Role", "op", `{"kind":"ServiceAccount","name":"x","namespace":"kube-system"}`), open, "kube-system/x"},
		{"another spelling", "shop", "app", "roles",
			rules(`"apiGroups":[""],"resources":["pods"],"verbs":["escalate"],"Verbs":["get"]`), open, "escalate"},
		{"no JSON", "shop", "app", "roles", `{`, open, "cannot be read"},
		{"another kind", "shop", "app", "rolethings", good, open, "no kind of rights"},
	} {
		p, err := Compile(c.allow, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Rights(c.space, c.namespace, c.resource, "op", []byte(c.body), space)
		var refused *Refusal
		if c.says == "" && err != nil || c.says != "" &&
			(!errors.As(err, &refused) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	p, err := Compile(open, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"skerry-space", "skerry-space-controllers", "system:node"} {
		if p.Rights("shop", "app", "rolebindings", name, []byte(bind("Role", "op", own)), space) == nil {
			t.Errorf("a binding named %s is allowed", name)
		}
	}
	narrowed, err := Compile(open, &tunnel.Narrow{Controllers: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if narrowed.Rights("shop", "app", "roles", "op", []byte(good), space) == nil ||
		len(narrowed.Result().Controllers) != 0 {
		t.Error("the center cannot take it away")
	}
}

func FuzzRights(f *testing.F) {
	f.Add("roles", `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`)
	f.Add("rolebindings",
		`{"roleRef":{"kind":"Role","name":"a"},"subjects":[{"kind":"ServiceAccount","namespace":"app"}]}`)
	p, err := Compile(tunnel.Allow{Controllers: []string{"*"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, resource, body string) {
		if p.Rights("shop", "app", resource, "op", []byte(body), facts{namespaces: []string{"app"}}) != nil {
			return
		}
		var o rights
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		for _, r := range o.Rules {
			for _, v := range r.Verbs {
				if resource == "roles" && (v == "impersonate" || v == "escalate" || v == "bind" || strings.Contains(v, "*")) {
					t.Errorf("%s is allowed", body)
				}
			}
		}
		for _, s := range o.Subjects {
			if resource == "rolebindings" && (s.Kind != "ServiceAccount" || s.Namespace != "app") {
				t.Errorf("%s is allowed", body)
			}
		}
	})
}
