package authz

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

func role(name string, labels map[string]string, selects map[string]string, verbs ...string) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if selects != nil {
		r.AggregationRule = &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: selects}},
		}
	}
	for _, v := range verbs {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{v}})
	}
	return r
}

func TestAggregate(t *testing.T) {
	type m = map[string]string
	for _, x := range []struct {
		name  string
		roles []*rbacv1.ClusterRole
		want  map[string][]string
	}{
		{
			"a sum of sums",
			[]*rbacv1.ClusterRole{role("admin", nil, m{"to": "admin"}), role("edit", m{"to": "admin"}, m{"to": "edit"}),
				role("part", m{"to": "edit"}, nil, "create", "get"), role("other", nil, nil, "delete")},
			map[string][]string{"admin": {"create", "get"}, "edit": {"create", "get"}},
		},
		{
			"equal rules once",
			[]*rbacv1.ClusterRole{
				role("all", nil, m{"to": "all"}),
				role("a", m{"to": "all"}, nil, "get"),
				role("b", m{"to": "all"}, nil, "get"),
			},
			map[string][]string{"all": {"get"}},
		},
		{
			"what it had before is no part of it",
			[]*rbacv1.ClusterRole{role("all", m{"to": "all"}, m{"to": "all"}, "old")},
			map[string][]string{"all": {}},
		},
		{
			"two that contain each other",
			[]*rbacv1.ClusterRole{role("a", m{"to": "b"}, m{"to": "a"}), role("b", m{"to": "a"}, m{"to": "b"}),
				role("x", m{"to": "a"}, nil, "get"), role("y", m{"to": "b"}, nil, "list")},
			map[string][]string{"a": {"get", "list"}, "b": {"get", "list"}},
		},
	} {
		all := map[string]*rbacv1.ClusterRole{}
		for _, r := range x.roles {
			all[r.Name] = r
		}
		sums, err := Aggregate(all)
		if err != nil || len(sums) != len(x.want) {
			t.Errorf("%s: %d sums, %v", x.name, len(sums), err)
		}
		for name, want := range x.want {
			got := []string{}
			for _, r := range sums[name] {
				got = append(got, r.Verbs...)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s allows %v, want %v", x.name, name, got, want)
			}
		}
	}
}

func TestBootstrapRolesAreSums(t *testing.T) {
	b, err := NewBootstrap()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"admin", "edit", "view"} {
		if r := b.Roles[name]; len(r.Rules) < 5 || r.AggregationRule == nil {
			t.Errorf("%s has %d rules, aggregationRule %v", name, len(r.Rules), r.AggregationRule)
		}
	}
}

// A role that charts bring is not one that every space has: helm could not adopt it, and nobody could delete it.
func TestBootstrapRolesHaveNamesOfTheirOwn(t *testing.T) {
	b, err := NewBootstrap()
	if err != nil {
		t.Fatal(err)
	}
	upstream := map[string]bool{}
	for _, r := range bootstrappolicy.ClusterRoles() {
		upstream[r.Name] = true
	}
	for name := range b.Roles {
		if !upstream[name] && !strings.HasPrefix(name, "skerry:") {
			t.Errorf("%s may be a role of a chart", name)
		}
	}
	if !slices.ContainsFunc(b.Roles["view"].Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, "metrics.k8s.io")
	}) {
		t.Error("who may view may not see what Pods use")
	}
}

// A role in one namespace gives no right without a namespace: what every member may ask is of system:basic-user.
func TestEveryMemberMayAskWhereWhatHeMayGetIs(t *testing.T) {
	b, err := NewBootstrap()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(b.Roles["system:basic-user"].Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Equal(r.Resources, []string{"placementreviews", "servicereviews"}) && slices.Equal(r.Verbs, []string{"create"})
	}) {
		t.Error("a user of one namespace may not create a PlacementReview")
	}
}
