package admin

import (
	"context"
	"fmt"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// ReleaseTarget lets a name go: its site's session ends, and the next site that joins with a token
// takes the name's place, placements and labels over. A key that was revoked stays so.
func ReleaseTarget(ctx context.Context, o TargetOptions) error {
	return o.annotate(ctx, func(has map[string]string) (map[string]any, string, error) {
		if has[v1alpha1.AnnotationKey] == "" {
			return nil, "", fmt.Errorf("the name %q is free already: a site joins with: skerry token create", o.Name)
		}
		return map[string]any{
				v1alpha1.AnnotationKey: nil,
			}, fmt.Sprintf(
				`released: the next site that joins as %[1]s takes its place.
  skerry token create            # prints the command to run there, with --name %[1]s`,
				o.Name,
			), nil
	})
}
