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

const (
	definitionsResource = "customresourcedefinitions"
	definitionVersion   = "apiextensions.k8s.io/v1"
)

// definition is the key of the definition of one of the kinds in a space.
func definition(space, resource string) store.Key {
	return store.Key{Space: space, Group: "apiextensions.k8s.io", Resource: definitionsResource,
		Name: resource + "." + v1alpha1.FleetGroup}
}

func isDefinition(k store.Key) bool {
	return k.Resource == definitionsResource &&
		(k == definition(k.Space, v1alpha1.ServiceExports) || k == definition(k.Space, v1alpha1.ServiceImports))
}

// staysInSpace reports whether objects of a definition go to no site; false for one that is gone.
func staysInSpace(o map[string]any) bool {
	return fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationPlacement] != nil
}

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
		k := definition(space, fields.String(want, "spec", "names", "plural"))
		have, err := c.live(ctx, k, definitionVersion)
		switch {
		case err != nil:
		case have == nil:
			_, err = c.cfg.API.Create(ctx, k, definitionVersion, want)
		case !staysInSpace(have):
			_, err = c.patch(ctx, k, definitionVersion, "", map[string]any{"metadata": map[string]any{
				"annotations": fields.Map(want, "metadata", "annotations")}})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keep %s: %w", k, err)
		}
	}
	return nil
}
