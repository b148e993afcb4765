package clusterset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store/clip"
)

// mostNamed is how much of a condition's message names the spaces that import, in bytes.
const mostNamed = 1 << 10

// say writes what came of an export into its status. Reached are the spaces that import it.
func (c *Controller) say(ctx context.Context, space string, n name, v verdict, reached []string) error {
	k := exportOf(space, n)
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
	if len(v.unsaid) > 0 {
		valid.message += "; exportedLabels or exportedAnnotations " + clip.Dotted(strings.Join(v.unsaid, ", "), mostNamed) +
			" are not: their keys or values are not valid, are too long, or mean something to Skerry"
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
	if len(v.conflicts) > 0 {
		var reasons, contrary []string
		for _, c := range v.conflicts {
			reasons, contrary = append(reasons, c.reason), append(contrary, c.contrary)
		}
		conflict = condition{"Conflict", true, strings.Join(reasons, ","), strings.Join(contrary, "; ")}
	}
	return []condition{valid, ready, conflict}
}
