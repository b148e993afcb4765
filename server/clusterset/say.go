package clusterset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
)

// mostNamed is how much of a condition's message names the spaces that import, in bytes.
const mostNamed = 1 << 10

// say writes what came of an export into its status. Reached are the spaces that import it.
func (c *Controller) say(ctx context.Context, space string, n name, v verdict, reached []string) error {
	k := store.Key{Space: space, Group: v1alpha1.FleetGroup, Resource: v1alpha1.ServiceExports, Namespace: n.namespace,
		Name: n.service}
	have, err := c.live(ctx, k, apiVersion)
	if err != nil || have == nil {
		return err
	}
	status := map[string]any{"conditions": conditions(have, v.conditions(reached)...)}
	if sameOf(fields.Map(have, "status"), status) {
		return nil
	}
	_, err = c.patch(ctx, k, apiVersion, "status", map[string]any{"status": status})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	return nil
}

// conditions are those of an export.
func (v verdict) conditions(reached []string) []condition {
	valid := condition{"Valid", true, "Valid", "the Service can be exported"}
	if v.leftOut != "" {
		valid.message += "; its ports " + v.leftOut + " are not: between sites there is TCP alone"
	}
	slices.Sort(reached)
	ready := condition{"Ready", true, "Exported", "imported by the spaces " +
		clip.Dotted(strings.Join(reached, ", "), mostNamed)}
	switch {
	case v.invalid != "":
		valid = condition{"Valid", false, v.invalid, v.why}
		ready = condition{"Ready", false, "Failed", "it is not exported: " + v.why}
	case len(reached) == 0:
		ready = condition{"Ready", false, "Pending", "no space of the set has imported it yet"}
	}
	conflict := condition{"Conflict", false, "NoConflicts", "no other space of the set exports it otherwise"}
	if v.conflict != "" {
		conflict = condition{"Conflict", true, v.conflict, v.contrary}
	}
	return []condition{valid, ready, conflict}
}
