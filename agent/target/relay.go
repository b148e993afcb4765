package target

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// RootSpace is the space of the admin; it always exists.
const RootSpace = "root"

// Relay is the Access of a center that is itself the agent of a parent. Each space of the parent
// maps to the space of the same name in the center's own API.
func Relay(loopback func(space string) *rest.Config) Access { return &relay{loopback: loopback} }

type relay struct {
	loopback func(space string) *rest.Config

	mu   sync.Mutex
	root *Client
}

// View implements Access.
func (r *relay) View(space string) (View, error) {
	return View{ID: "space/" + space, Config: r.loopback(space)}, nil
}

// EnsureSpace implements Access: what a parent places into a new space goes to one of the relay's
// own targets, unless the relay's admin says otherwise. Its namespaces are called there as they
// would be at a target of the parent's.
func (r *relay) EnsureSpace(ctx context.Context, space string, mapping Mapping) error {
	if space == RootSpace {
		return nil
	}
	root, err := r.client()
	if err != nil {
		return err
	}
	_, err = root.Get(ctx, spaceResource, "", space, false)
	if !apierrors.IsNotFound(err) {
		return err
	}
	spec := map[string]any{"defaultTargets": map[string]any{"count": 1}}
	if mapping != "" {
		spec["namespaceMapping"] = map[string]any{"prefix": mapping}
	}
	body, err := json.Marshal(
		map[string]any{
			"apiVersion": "skerry.dev/v1alpha1",
			"kind":       "Space",
			"metadata":   map[string]any{"name": space},
			"spec":       spec,
		},
	)
	if err != nil {
		return fmt.Errorf("encode space %q: %w", space, err)
	}
	if _, err = root.Create(ctx, spaceResource, "", body); apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

var spaceResource = Resource{Group: "skerry.dev", Version: "v1alpha1", Plural: "spaces"}

// spaces lists the spaces, the root one too.
func (r *relay) spaces(ctx context.Context) ([]string, error) {
	root, err := r.client()
	if err != nil {
		return nil, err
	}
	out := []string{RootSpace}
	_, err = root.List(ctx, Listing{Resource: spaceResource, MetadataOnly: true}, func(o *Object) error {
		if o.Metadata.Name != RootSpace {
			out = append(out, o.Metadata.Name)
		}
		return nil
	})
	return out, err
}

func (r *relay) client() (*Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root != nil {
		return r.root, nil
	}
	made, err := newClient(View{ID: "space/" + RootSpace, Config: r.loopback(RootSpace)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a client of the root space: %w", err)
	}
	r.root = made
	return made, nil
}
