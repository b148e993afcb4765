package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// evictClear is how long taking the wish back may take when the command is interrupted.
const evictClear = 10 * time.Second

// evict has one unit leave a target by the annotation skerry.dev/evict, waits until it has left, and
// takes the annotation off again. Without that a unit that had not left in time goes back.
func (c *center) evict(ctx context.Context, m rebalanced, timeout time.Duration) error {
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceURL(m.unit.key.Space)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	k := m.unit.key
	kind := schema.GroupVersionResource{Group: k.Group, Version: "v1", Resource: k.Resource}
	if k.Group == v1alpha1.GroupVersion.Group {
		kind.Version = v1alpha1.GroupVersion.Version
	}
	var holder dynamic.ResourceInterface = client.Resource(kind)
	if k.Namespace != "" {
		holder = client.Resource(kind).Namespace(k.Namespace)
	}
	wish := func(ctx context.Context, from any) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{v1alpha1.AnnotationEvict: from}}})
		if err != nil {
			return err
		}
		_, err = holder.Patch(ctx, k.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "skerry-cli"})
		return err
	}
	if err := wish(ctx, m.From); err != nil {
		return fmt.Errorf("ask %s to leave %s: %w", m.Object, m.From, err)
	}
	waits, cancel := context.WithTimeout(ctx, timeout)
	err = awaitLeft(waits, holder, m, timeout)
	cancel()
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), evictClear)
	defer cancel()
	if cleared := wish(clearing, nil); cleared != nil && err == nil {
		return fmt.Errorf("take the annotation %s off %s: %w", v1alpha1.AnnotationEvict, m.Object, cleared)
	}
	return err
}

// awaitLeft waits until a unit is decided not to be on the target any more.
func awaitLeft(ctx context.Context, holder dynamic.ResourceInterface, m rebalanced, timeout time.Duration) error {
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	for {
		o, err := holder.Get(ctx, m.unit.key.Name, metav1.GetOptions{})
		if err == nil && !slices.Contains(decisionOf(o), m.From) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has not left %s within %s and stays; skerry status --moves says what it waits for",
				m.Object, m.From, timeout)
		case <-tick.C:
		}
	}
}

// decisionOf is where the unit is that an object holds.
func decisionOf(o *unstructured.Unstructured) []string {
	if o.GetKind() == "Placement" {
		list, _, _ := unstructured.NestedStringSlice(o.Object, "status", "decision")
		return list
	}
	return placement.Split(o.GetAnnotations()[v1alpha1.AnnotationTargets])
}
