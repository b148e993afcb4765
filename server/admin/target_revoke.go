package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// RevokeTarget keeps the key that a site has now out for ever: its session ends, and it gets
// neither another nor a certificate. Nothing is deleted anywhere.
func RevokeTarget(ctx context.Context, o TargetOptions) error {
	return o.annotate(ctx, func(has map[string]string) (map[string]any, string, error) {
		key := has[v1alpha1.AnnotationKey]
		if key == "" {
			return nil, "", fmt.Errorf(
				"no site holds the name %q: it has not joined, or was released; there is no key to revoke",
				o.Name,
			)
		}
		revoked := []string{key}
		for _, k := range strings.Split(has[v1alpha1.AnnotationRevoked], ",") {
			if k != "" && !slices.Contains(revoked, k) {
				revoked = append(revoked, k)
			}
		}
		return map[string]any{
				v1alpha1.AnnotationRevoked: strings.Join(revoked, ","),
			}, fmt.Sprintf(
				`revoked: its session ends, its key is refused from now on.
What runs there goes on and nothing is deleted. To let the site back, with another key:
  skerry target release %s
  skerry token create            # and start the agent there once with --token-file`,
				o.Name,
			), nil
	})
}
