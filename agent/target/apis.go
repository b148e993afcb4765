package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aggregatedType asks for all groups with their resources in one answer, and takes the older form
// from clusters that do not know it.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

// apiList is the answer to /api or /apis in one of its forms: all groups with their resources, all
// groups, or the versions of the core group.
type apiList struct {
	Kind  string
	Items []struct {
		Metadata Metadata
		Versions []struct {
			Version   string
			Resources []struct{ Resource string }
		}
	}
	Groups   []metav1.APIGroup
	Versions []string
}

// APIs visits every version of a group that the target serves, with its resources. Of groups that
// named is false for it may leave the resources out.
func (c *Client) APIs(ctx context.Context, named func(group string) bool,
	visit func(group, version string, resources []string)) error {
	for _, path := range []string{"/api", "/apis"} {
		list, err := c.apiList(ctx, path)
		if err != nil {
			return err
		}
		for _, version := range list.Versions {
			visit("", version, nil)
		}
		for _, g := range list.Items {
			for _, v := range g.Versions {
				var resources []string
				for _, r := range v.Resources {
					resources = append(resources, r.Resource)
				}
				visit(g.Metadata.Name, v.Version, resources)
			}
		}
		for _, g := range list.Groups {
			for _, v := range g.Versions {
				resources, err := c.resourceNames(ctx, g.Name, v.Version, named)
				if err != nil {
					return err
				}
				visit(g.Name, v.Version, resources)
			}
		}
	}
	return nil
}

func (c *Client) apiList(ctx context.Context, path string) (*apiList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, path, nil, "", aggregatedType, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("read answer to GET %s: %w", path, err)
	}
	if resp.StatusCode >= 300 {
		return nil, failure(resp.StatusCode, answer)
	}
	list := &apiList{}
	if err := json.Unmarshal(answer, list); err != nil {
		return nil, fmt.Errorf("decode answer to GET %s: %w", path, err)
	}
	return list, nil
}

func (c *Client) resourceNames(
	ctx context.Context, group, version string, named func(string) bool,
) (out []string, err error) {
	if !named(group) {
		return nil, nil
	}
	served, err := c.resources(ctx, "/apis/"+group+"/"+version, group, version)
	for _, r := range served {
		out = append(out, r.Plural)
	}
	return out, err
}

// ClusterProperty is what an agent reads of a ClusterProperty of about.k8s.io.
type ClusterProperty struct {
	Metadata Metadata
	Spec     struct{ Value string }
}

// Properties visits the ClusterProperties of the target at a version. A target that does not serve
// them, or does not let the agent read them, has none.
func (c *Client) Properties(ctx context.Context, version string, visit func(*ClusterProperty)) error {
	err := pages(ctx, c, Resource{Group: "about.k8s.io", Version: version, Plural: "clusterproperties"}, visit)
	if errors.Is(err, ErrNotServed) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
