package clusterset

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// definitions are those of both kinds, as SIG Multicluster has them.
var definitions = sync.OnceValues(func() (out []map[string]any, err error) {
	for _, text := range [][]byte{crd.ServiceExportCRD, crd.ServiceImportCRD} {
		var o map[string]any
		if err := yaml.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("read a definition of multicluster.x-k8s.io: %w", err)
		}
		meta := fields.Map(o, "metadata")
		meta["annotations"] = map[string]any{v1alpha1.AnnotationPlacement: string(v1alpha1.PlacementNone)}
		out = append(out, o)
	}
	return out, nil
})

// define has a space serve both kinds. A definition that it has is its own, and stays as it is but for one word: the
// objects of both kinds stay in the space.
func (c *Controller) define(ctx context.Context, space string) error {
	all, err := definitions()
	if err != nil {
		return err
	}
	c.mu.Lock()
	is := c.spaces[space].set != ""
	c.mu.Unlock()
	if !is {
		return nil
	}
	for _, want := range all {
		const version = "apiextensions.k8s.io/v1"
		k := store.Key{Space: space, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: fields.String(want, "metadata", "name")}
		have, err := c.live(ctx, k, version)
		switch {
		case err != nil:
		case have == nil:
			_, err = c.cfg.API.Create(ctx, k, version, want)
		case fields.Map(have, "metadata", "annotations")[v1alpha1.AnnotationPlacement] == nil:
			_, err = c.patch(ctx, k, version, "", map[string]any{"metadata": map[string]any{
				"annotations": fields.Map(want, "metadata", "annotations")}})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keep %s: %w", k, err)
		}
	}
	return nil
}
