package target

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Pod is what an agent reads of a Pod to add up what pods request.
type Pod struct {
	Metadata struct{ Namespace, UID string }
	Spec     struct {
		Containers     []PodContainer
		InitContainers []PodContainer
		Overhead       map[string]string
		Resources      PodResources
	}
	Status struct{ Phase string }
}

// PodContainer is what a container of a Pod requests. An init container with the RestartPolicy
// Always runs beside the containers.
type PodContainer struct {
	RestartPolicy string
	Resources     PodResources
}

// PodResources are requests by resource.
type PodResources struct{ Requests map[string]string }

// Pods visits the Pods of all namespaces of the target, page by page.
func (c *Client) Pods(ctx context.Context, visit func(*Pod)) error {
	return pages(ctx, c, Resource{Version: "v1", Plural: "pods"}, visit)
}

// Quota is what an agent reads of a ResourceQuota.
type Quota struct {
	Metadata struct{ Namespace string }
	Status   struct{ Hard, Used map[string]string }
}

// Quotas visits the ResourceQuotas of all namespaces of the target, page by page.
func (c *Client) Quotas(ctx context.Context, visit func(*Quota)) error {
	return pages(ctx, c, Resource{Version: "v1", Plural: "resourcequotas"}, visit)
}

// Child is what a relay's agent reads of one of the relay's own SyncTargets.
type Child struct {
	Status struct {
		Capacity, Allocatable, Allocated, AllocatedPlaced map[string]string
		Conditions                                        []struct{ Type, Status string }
	}
}

// Connected reports whether the child has a session.
func (c *Child) Connected() bool {
	for _, is := range c.Status.Conditions {
		if is.Type == "Connected" {
			return is.Status == "True"
		}
	}
	return false
}

// Children visits the SyncTargets of a relay, page by page.
func (c *Client) Children(ctx context.Context, visit func(*Child)) error {
	return pages(ctx, c, Resource{Group: "skerry.dev", Version: "v1alpha1", Plural: "synctargets"}, visit)
}

// NotReadable reports whether a read failed because the agent has no right to it.
func NotReadable(err error) bool {
	return errors.Is(err, ErrNotServed) || apierrors.IsForbidden(err)
}
