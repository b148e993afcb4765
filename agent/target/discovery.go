package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Served is a resource that can be listed, at the version that the target prefers.
type Served struct {
	Resource
	Kind       string
	Namespaced bool
}

// NamespacedResources returns every resource that has namespaced objects and can be listed, each at
// the version that the target prefers. A group whose server does not answer is an error: what
// cannot be seen must not be taken for empty.
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

// groupsAtOnce is how many API groups are asked for their resources at the same time.
const groupsAtOnce = 8

// Served returns every resource that can be listed. If the server of a group does not answer, it
// returns an error and the resources of the others.
func (c *Client) Served(ctx context.Context) ([]Served, error) {
	list := metav1.APIGroupList{}
	if _, err := c.call(ctx, http.MethodGet, "/apis", nil, "", nil, &list); err != nil {
		return nil, fmt.Errorf("list API groups: %w", err)
	}
	core := metav1.APIGroup{PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "v1", Version: "v1"}}
	groups := append([]metav1.APIGroup{core}, list.Groups...)
	served, errs := make([][]Served, len(groups)), make([]error, len(groups))
	var asking errgroup.Group
	asking.SetLimit(groupsAtOnce)
	for i, g := range groups {
		path := "/apis/" + g.PreferredVersion.GroupVersion
		if g.Name == "" {
			path = "/api/v1"
		}
		asking.Go(func() error {
			served[i], errs[i] = c.resources(ctx, path, g.Name, g.PreferredVersion.Version)
			return nil // the others are wanted in any case
		})
	}
	_ = asking.Wait()
	return slices.Concat(served...), errors.Join(errs...)
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
