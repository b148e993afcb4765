package server

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/store"
)

// spaceClient is how the center's controllers read and write objects of any space: through the
// loopback, as its own identity. It implements all of spaceapi.
type spaceClient struct {
	config  func(space string) *rest.Config
	mu      sync.RWMutex
	clients map[string]dynamic.Interface
}

func newSpaceClient(config func(space string) *rest.Config) *spaceClient {
	return &spaceClient{config: config, clients: map[string]dynamic.Interface{}}
}

func (w *spaceClient) client(space string) (dynamic.Interface, error) {
	w.mu.RLock()
	c := w.clients[space]
	w.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	c, err := dynamic.NewForConfig(w.config(space))
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[space] = c
	return c, nil
}

func (w *spaceClient) resource(key store.Key, apiVersion string) (dynamic.ResourceInterface, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	c, err := w.client(key.Space)
	if err != nil {
		return nil, err
	}
	r := c.Resource(gv.WithResource(key.Resource))
	if key.Namespace == "" {
		return r, nil
	}
	return r.Namespace(key.Namespace), nil
}

// Get implements spaceapi.Getter.
func (w *spaceClient) Get(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	return content(r.Get(ctx, key.Name, metav1.GetOptions{ResourceVersion: "0"}))
}

// Create implements spaceapi.Creator.
func (w *spaceClient) Create(
	ctx context.Context,
	key store.Key,
	apiVersion string,
	obj map[string]any,
) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	return content(r.Create(ctx, &unstructured.Unstructured{Object: obj}, metav1.CreateOptions{FieldManager: "skerry"}))
}

// Patch implements spaceapi.Patcher.
func (w *spaceClient) Patch(
	ctx context.Context,
	key store.Key,
	apiVersion, subresource string,
	patch []byte,
) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	kind := types.MergePatchType
	if len(patch) > 0 && patch[0] == '[' {
		kind = types.JSONPatchType
	}
	var sub []string
	if subresource != "" {
		sub = []string{subresource}
	}
	return content(r.Patch(ctx, key.Name, kind, patch, metav1.PatchOptions{FieldManager: "skerry"}, sub...))
}

// Delete implements spaceapi.Deleter.
func (w *spaceClient) Delete(ctx context.Context, key store.Key, apiVersion, uid string) error {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return err
	}
	now, policy := int64(0), metav1.DeletePropagationBackground // the default of Jobs is to wait for a collector
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &policy}
	if uid != "" {
		id := types.UID(uid)
		options.Preconditions = &metav1.Preconditions{UID: &id}
	}
	return r.Delete(ctx, key.Name, options)
}

// Terminate implements spaceapi.Terminator.
func (w *spaceClient) Terminate(ctx context.Context, key store.Key, apiVersion, uid string, grace int64) error {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return err
	}
	id := types.UID(uid)
	return r.Delete(ctx, key.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &grace,
		Preconditions:      &metav1.Preconditions{UID: &id},
	})
}

// Live implements spaceapi.LiveGetter.
func (w *spaceClient) Live(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	return content(r.Get(ctx, key.Name, metav1.GetOptions{}))
}

// Remove implements spaceapi.Remover.
func (w *spaceClient) Remove(ctx context.Context, key store.Key, apiVersion, uid, version, policy string) error {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return err
	}
	id, p := types.UID(uid), metav1.DeletionPropagation(policy)
	return r.Delete(
		ctx,
		key.Name,
		metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &id, ResourceVersion: &version},
			PropagationPolicy: &p,
		},
	)
}

// Resolve implements spaceapi.Resolver.
func (w *spaceClient) Resolve(
	_ context.Context,
	space string,
	gv schema.GroupVersion,
	kind string,
) (resource string, namespaced bool, err error) {
	d, err := discovery.NewDiscoveryClientForConfig(w.config(space))
	if err != nil {
		return "", false, err
	}
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		return "", false, fmt.Errorf("look up %s %s in space %s: %w", gv, kind, space, err)
	}
	for _, r := range list.APIResources {
		if r.Kind == kind && !strings.Contains(r.Name, "/") {
			return r.Name, r.Namespaced, nil
		}
	}
	return "", false, fmt.Errorf("space %s serves no kind %s in %s", space, kind, gv)
}

func content(u *unstructured.Unstructured, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	return u.Object, nil
}
