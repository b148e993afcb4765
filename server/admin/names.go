package admin

import (
	"bytes"
	"context"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// NamesTime bounds how long a shell waits for names after the tab key.
const NamesTime = 2 * time.Second

// Names returns the names of the center's "spaces" or "targets", or of the "placements" of the space that
// the current context is of, for completion. "objects/SPACE/NAMESPACE/RESOURCE" are those of a resource, as
// users call it, in a space; an empty SPACE or NAMESPACE is that of the current context. The center
// is that of a kubeconfig, or of "" as commands have it. It returns none when the center does not
// answer in time.
func Names(ctx context.Context, kubeconfig, kind string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, NamesTime)
	defer cancel()
	var out bytes.Buffer
	list := ListSpaces
	what, where, _ := strings.Cut(kind, "/")
	switch what {
	case "targets":
		list = ListTargets
	case "placements":
		return placementNames(ctx, kubeconfig)
	case "objects":
		space, rest, _ := strings.Cut(where, "/")
		namespace, resource, _ := strings.Cut(rest, "/")
		return objectNames(ctx, ExplainOptions{
			Kubeconfig: kubeconfig, Space: space, Namespace: namespace, Resource: resource,
		})
	}
	if err := list(ctx, ListOptions{Kubeconfig: kubeconfig, Output: "name", Out: &out}); err != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		names = append(names, path.Base(strings.TrimSpace(line)))
	}
	return names
}

// placementNames are the names of the Placements of the current context's space.
func placementNames(ctx context.Context, kubeconfig string) (names []string) {
	o := RolloutOptions{Kubeconfig: kubeconfig}
	api, err := o.api(ctx)
	if err != nil {
		return nil
	}
	list, err := api.List(ctx, metav1.ListOptions{Limit: page})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// objectNames are the names of the objects of a resource.
func objectNames(ctx context.Context, o ExplainOptions) (names []string) {
	config, namespace, err := spaceConfig(ctx, o.Kubeconfig, o.Space, o.Namespace)
	if err != nil {
		return nil
	}
	config.Timeout = NamesTime
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	is, err := findResource(kinds, o.Resource)
	if err != nil {
		return nil
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	if !is.Namespaced {
		namespace = ""
	}
	of := schema.GroupVersionResource{Group: is.Group, Version: is.Version, Resource: is.Name}
	list, err := client.Resource(of).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: page})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
