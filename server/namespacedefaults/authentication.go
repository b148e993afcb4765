package namespacedefaults

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// whyEmpty is what the ConfigMap says of itself. A certificate that the center trusts names a person
// of the center, who may be another one in each space, and the center forwards no requests to API
// servers behind it. So a server that read an authority here would trust too many.
const whyEmpty = "Names no authorities: neither client certificates nor request headers are trusted in " +
	"a space. Servers that delegate authentication ask for a TokenReview."

// authentication makes what servers read that delegate authentication to the API of the space: metrics
// adapters, and operators that protect their own endpoints. What somebody has put into the ConfigMap
// stays.
func (c *Controller) authentication(ctx context.Context, n namespace) error {
	config := store.Key{
		Space: n.space, Resource: "configmaps", Namespace: n.name, Name: v1alpha1.AuthenticationConfig,
	}
	if err := c.ensure(ctx, config, object(config, "v1", "ConfigMap", whyEmpty)); err != nil {
		return err
	}
	reader := store.Key{
		Space: n.space, Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: n.name,
		Name: v1alpha1.AuthenticationReader,
	}
	role := object(reader, "rbac.authorization.k8s.io/v1", "Role", "")
	role["metadata"].(map[string]any)["labels"] = map[string]any{"kubernetes.io/bootstrapping": "rbac-defaults"}
	role["rules"] = []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"configmaps"}, "resourceNames": []any{config.Name},
		"verbs": []any{"get", "list", "watch"},
	}}
	return c.ensure(ctx, reader, role)
}
