package server

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/store"
)

// writer is how the center's controllers read and write objects of any space: through the loopback, as its own identity.
type writer struct {
	config  func(space string) *rest.Config
	mu      sync.RWMutex
	clients map[string]dynamic.Interface
}

func newWriter(config func(space string) *rest.Config) *writer {
	return &writer{config: config, clients: map[string]dynamic.Interface{}}
}

func (w *writer) client(space string) (dynamic.Interface, error) {
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

func (w *writer) resource(key store.Key, apiVersion string) (dynamic.ResourceInterface, error) {
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

// Get reads an object.
func (w *writer) Get(ctx context.Context, key store.Key, apiVersion string) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	return content(r.Get(ctx, key.Name, metav1.GetOptions{ResourceVersion: "0"}))
}

// Create makes an object.
func (w *writer) Create(ctx context.Context, key store.Key, apiVersion string, obj map[string]any) (map[string]any, error) {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return nil, err
	}
	return content(r.Create(ctx, &unstructured.Unstructured{Object: obj}, metav1.CreateOptions{FieldManager: "skerry"}))
}

// Patch changes an object, or a subresource of it: a patch that begins with '[' is a JSON patch, any other a JSON merge patch.
func (w *writer) Patch(ctx context.Context, key store.Key, apiVersion, subresource string, patch []byte) (map[string]any, error) {
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

// Delete removes an object at once; with a uid, only that very object.
func (w *writer) Delete(ctx context.Context, key store.Key, apiVersion, uid string) error {
	r, err := w.resource(key, apiVersion)
	if err != nil {
		return err
	}
	now := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &now}
	if uid != "" {
		id := types.UID(uid)
		options.Preconditions = &metav1.Preconditions{UID: &id}
	}
	return r.Delete(ctx, key.Name, options)
}

func content(u *unstructured.Unstructured, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	return u.Object, nil
}
