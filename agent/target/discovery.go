package target

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespacedResources returns every resource that lives in namespaces and can be listed, each at the version that the target
// prefers. A group whose server does not answer is an error: what cannot be seen must not be taken for empty.
func (c *Client) NamespacedResources(ctx context.Context) ([]Resource, error) {
	groups := metav1.APIGroupList{}
	if _, err := c.call(ctx, http.MethodGet, "/apis", nil, "", nil, &groups); err != nil {
		return nil, fmt.Errorf("list API groups: %w", err)
	}
	out, err := c.resources(ctx, "/api/v1", "", "v1")
	if err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		more, err := c.resources(ctx, "/apis/"+g.PreferredVersion.GroupVersion, g.Name, g.PreferredVersion.Version)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (c *Client) resources(ctx context.Context, path, group, version string) ([]Resource, error) {
	list := metav1.APIResourceList{}
	if _, err := c.call(ctx, http.MethodGet, path, nil, "", nil, &list); err != nil {
		return nil, fmt.Errorf("list resources of %s: %w", path, err)
	}
	var out []Resource
	for _, r := range list.APIResources {
		if r.Namespaced && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") {
			out = append(out, Resource{Group: group, Version: version, Plural: r.Name})
		}
	}
	return out, nil
}

// Versions returns the versions of one group that the target serves, the preferred one first.
func (c *Client) Versions(ctx context.Context, group string) ([]string, error) {
	g := metav1.APIGroup{}
	if _, err := c.call(ctx, http.MethodGet, "/apis/"+url.PathEscape(group), nil, "", nil, &g); err != nil {
		return nil, fmt.Errorf("look up API group %s: %w", group, err)
	}
	out := []string{g.PreferredVersion.Version}
	for _, v := range g.Versions {
		if v.Version != g.PreferredVersion.Version {
			out = append(out, v.Version)
		}
	}
	return out, nil
}
