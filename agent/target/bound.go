package target

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// binding is what of a RoleBinding or a ClusterRoleBinding is looked at.
type binding struct {
	Metadata Metadata
	Subjects []struct{ Kind, Name, Namespace string }
}

// gives reports whether a binding gives rights to the ServiceAccounts of a namespace.
func (b *binding) gives(namespace string) bool {
	for _, s := range b.Subjects {
		if s.Kind == "ServiceAccount" && s.Namespace == namespace ||
			s.Kind == "Group" && s.Name == "system:serviceaccounts:"+namespace ||
			s.Kind == "User" && strings.HasPrefix(s.Name, "system:serviceaccount:"+namespace+":") {
			return true
		}
	}
	return false
}

// BoundAccounts names a binding that gives rights to the ServiceAccounts of a namespace, empty if
// there is none. What every ServiceAccount of the cluster has does not count. A target without RBAC
// has no bindings.
func (c *Client) BoundAccounts(ctx context.Context, namespace string) (string, error) {
	for _, plural := range []string{"clusterrolebindings", "rolebindings"} {
		next := ""
		for {
			var page struct {
				Metadata struct{ Continue string }
				Items    []binding
			}
			query := url.Values{"limit": {strconv.Itoa(metadataPageSize)}, "continue": {next}}
			r := Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: plural}
			_, err := c.call(ctx, http.MethodGet, r.Path("", ""), query, "", nil, &page)
			if errors.Is(err, ErrNotServed) {
				return "", nil
			}
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				if page.Items[i].gives(namespace) {
					return plural[:len(plural)-1] + " " + page.Items[i].Metadata.Name, nil
				}
			}
			if next = page.Metadata.Continue; next == "" {
				break
			}
		}
	}
	return "", nil
}
