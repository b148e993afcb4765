package server_test

import (
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
)

// sumOfRoles: a role of a space's own gets the rules of those that it selects. They are applied, as in a cluster, so
// that who applies the role again is told the same. Without anything to sum it has none.
func sumOfRoles(t *testing.T, roles rbacv1client.ClusterRoleInterface) {
	t.Helper()
	ctx, part := t.Context(), map[string]string{"part-of": "sum"}
	_, err := roles.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "sum"}, Rules: []rbacv1.PolicyRule{},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: part}}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = roles.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "part", Labels: part},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"},
			ResourceNames: []string{"one"}}, {NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	has := func(rules int) func() bool {
		return func() bool {
			sum, err := roles.Get(ctx, "sum", metav1.GetOptions{})
			must(t, err)
			applied := slices.ContainsFunc(sum.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
				return m.Manager == "clusterrole-aggregation-controller" && m.Operation == metav1.ManagedFieldsOperationApply
			})
			return len(sum.Rules) == rules && (rules == 0 || applied)
		}
	}
	within(t, time.Minute, "the rules of the parts are applied", has(2))
	must(t, roles.Delete(ctx, "part", metav1.DeleteOptions{}))
	within(t, time.Minute, "the rules of no parts", has(0))
}
