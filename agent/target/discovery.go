package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Served is a resource that can be listed, at the version that the target prefers.
type Served struct {
	Resource
	Kind       string
	Namespaced bool
}

// NamespacedResources returns every resource that lives in namespaces and can be listed, each at the version that the target
// prefers. A group whose server does not answer is an error: what cannot be seen must not be taken for empty.
func (c *Client) NamespacedResources(ctx context.Context) ([]Resource, error) {
	served, err := c.Served(ctx)
	if err != nil {
		return nil, err
	}
	var out []Resource
	for _, r := range served {
		if r.Namespaced {
			out = append(out, r.Resource)
		}
	}
	return out, nil
}

// Served returns every resource that can be listed. With the error of a group whose server does not answer come those of the others.
func (c *Client) Served(ctx context.Context) ([]Served, error) {
	groups := metav1.APIGroupList{}
	if _, err := c.call(ctx, http.MethodGet, "/apis", nil, "", nil, &groups); err != nil {
		return nil, fmt.Errorf("list API groups: %w", err)
	}
	out, err := c.resources(ctx, "/api/v1", "", "v1")
	for _, g := range groups.Groups {
		more, failed := c.resources(ctx, "/apis/"+g.PreferredVersion.GroupVersion, g.Name, g.PreferredVersion.Version)
		out, err = append(out, more...), errors.Join(err, failed)
	}
	return out, err
}

func (c *Client) resources(ctx context.Context, path, group, version string) ([]Served, error) {
	list := metav1.APIResourceList{}
	if _, err := c.call(ctx, http.MethodGet, path, nil, "", nil, &list); err != nil {
		return nil, fmt.Errorf("list resources of %s: %w", path, err)
	}
	var out []Served
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") {
			out = append(out, Served{Resource{Group: group, Version: version, Plural: r.Name}, r.Kind, r.Namespaced})
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
