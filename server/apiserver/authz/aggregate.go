package authz

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Aggregate returns the rules of aggregated ClusterRoles by name. The aggregationRule of such a
// role selects other roles by label, and their rules are added up. Sums are transitive: admin
// contains edit, which contains view.
func Aggregate(roles map[string]*rbacv1.ClusterRole) (map[string][]rbacv1.PolicyRule, error) {
	sums, names := map[string][]rbacv1.PolicyRule{}, slices.Sorted(maps.Keys(roles))
	// Sums only grow, so that even those that contain each other come to an end.
	for grown := true; grown; {
		grown = false
		for _, name := range names {
			role := roles[name]
			if role.AggregationRule == nil {
				continue
			}
			sum, err := sum(role, roles, names, sums)
			if err != nil {
				return nil, err
			}
			if before, has := sums[name]; !has || len(before) != len(sum) {
				sums[name], grown = sum, true
			}
		}
	}
	return sums, nil
}

// sum adds up the rules of the roles that one role selects, given the sums so far.
func sum(
	role *rbacv1.ClusterRole,
	roles map[string]*rbacv1.ClusterRole,
	names []string,
	sums map[string][]rbacv1.PolicyRule,
) ([]rbacv1.PolicyRule, error) {
	out := []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			other := roles[name]
			if other == role || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			rules := other.Rules
			if other.AggregationRule != nil {
				rules = sums[name]
			}
			for _, r := range rules {
				if !slices.ContainsFunc(
					out,
					func(have rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(have, r) },
				) {
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}
