package target

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ControllersRole is the ClusterRole that a space whose controllers the site has opened has in
// addition, in namespaces that were made for it. It bounds what Roles of the space can give: the
// cluster lets its account give away only what it has. The site's admin may change it; it is made
// when it is missing.
const ControllersRole = "skerry-space-controllers"

// controllerVerbs are what a controller does with its objects.
var controllerVerbs = []string{"get", "list", "watch", "create", "patch", "update", "delete", "deletecollection"}

// ControllerRules returns the rules of ControllersRole: what controllers need in their namespaces,
// and to write the Roles that say so.
func ControllerRules(workloads []Rule) []Rule {
	out := slices.Clone(workloads)
	for i := range out {
		out[i].Verbs = controllerVerbs
	}
	reads := []string{"get", "list", "watch"}
	return append(out,
		Rule{
			APIGroups: []string{"apps"}, Verbs: []string{"get", "patch", "update"},
			Resources: []string{
				"daemonsets/status", "deployments/scale", "deployments/status", "replicasets/scale", "replicasets/status",
				"statefulsets/scale", "statefulsets/status",
			},
		},
		Rule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs/status", "jobs/status"},
			Verbs: []string{"get", "patch", "update"}},
		Rule{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "update"}},
		Rule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: controllerVerbs},
		Rule{APIGroups: []string{""}, Resources: []string{"endpoints"}, Verbs: reads},
		Rule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: reads},
		Rule{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: reads},
		Rule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"rolebindings", "roles"}, Verbs: verbs},
	)
}

// OpenRights gives the account of a space ControllersRole in a namespace.
func (c *Client) OpenRights(ctx context.Context, space, namespace string, workloads []Rule) error {
	_, err := c.Get(ctx, rbac("clusterroles"), "", ControllersRole, true)
	if apierrors.IsNotFound(err) {
		err = c.make(ctx, rbac("clusterroles"), "", map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": map[string]any{"name": ControllersRole}, "rules": ControllerRules(workloads),
		})
	}
	if err != nil {
		return fmt.Errorf("make the ClusterRole of controllers: %w", err)
	}
	if err := c.make(ctx, rbac("rolebindings"), namespace, c.roleBinding(ControllersRole, space, namespace)); err != nil {
		return fmt.Errorf("bind %s: %w", ControllersRole, err)
	}
	return nil
}
