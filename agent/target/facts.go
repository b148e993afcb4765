package target

import (
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Node is what an agent reads of a node.
type Node struct {
	Spec   struct{ Unschedulable bool }
	Status struct {
		Capacity    map[string]string
		Allocatable map[string]string
		Conditions  []struct{ Type, Status string }
		NodeInfo    struct{ OperatingSystem, Architecture string }
	}
}

// Nodes visits the nodes of the target, page by page.
func (c *Client) Nodes(ctx context.Context, visit func(*Node)) error {
	return pages(ctx, c, Resource{Version: "v1", Plural: "nodes"}, visit)
}

// ClassObject is what an agent reads of a StorageClass, IngressClass, RuntimeClass or PriorityClass.
type ClassObject struct {
	Metadata             Metadata
	Provisioner          string
	ReclaimPolicy        string
	VolumeBindingMode    string
	AllowVolumeExpansion bool
	Spec                 struct{ Controller string }
	Handler              string
	Value                int32
	GlobalDefault        bool
	PreemptionPolicy     string
}

// classResources are the resources of classes by kind.
var classResources = map[string]Resource{
	"StorageClass":  {Group: "storage.k8s.io", Version: "v1", Plural: "storageclasses"},
	"IngressClass":  {Group: "networking.k8s.io", Version: "v1", Plural: "ingressclasses"},
	"RuntimeClass":  {Group: "node.k8s.io", Version: "v1", Plural: "runtimeclasses"},
	"PriorityClass": {Group: "scheduling.k8s.io", Version: "v1", Plural: "priorityclasses"},
}

// Classes visits the classes of a kind. A kind that the target does not serve, or that the agent may
// not read, has none.
func (c *Client) Classes(ctx context.Context, kind string, visit func(*ClassObject)) error {
	err := pages(ctx, c, classResources[kind], visit)
	if NotReadable(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// DefaultStorageClass is the annotation of the StorageClass of claims that name none.
const DefaultStorageClass = "storageclass.kubernetes.io/is-default-class"

// HasDefaultStorageClass reports whether the cluster gives a class to claims that name none.
func (c *Client) HasDefaultStorageClass(ctx context.Context) (found bool, err error) {
	_, err = c.List(ctx, Listing{Resource: classResources["StorageClass"], MetadataOnly: true}, func(o *Object) error {
		a := o.Metadata.Annotations
		found = found || a[DefaultStorageClass] == "true" || a["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		return nil
	})
	return found, err
}

// factsPage is how many objects one page has: a node tells all images that it has.
const factsPage = "50"

func pages[T any](ctx context.Context, c *Client, r Resource, visit func(*T)) error {
	query := url.Values{"limit": {factsPage}}
	for {
		var page struct {
			Metadata struct{ Continue string }
			Items    []T
		}
		if _, err := c.call(ctx, http.MethodGet, r.Path("", ""), query, "", nil, &page); err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}
