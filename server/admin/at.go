package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// viewPath stands in the URL of a space before the path of the targets whose live view it is.
const viewPath = "/targets/"

func atFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "at",
		Usage: "what the space has at one site, live and read-only: TARGET, or RELAY/TARGET below a relay",
	}
}

// checkAt is a usage error for what is no path of targets. Empty is the space itself.
func checkAt(at string) error {
	if at == "" {
		return nil
	}
	for i, name := range strings.Split(at, "/") {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return Usage(
				"--at %q: name a target, or targets with slashes between them, as in eu/paris",
				at,
			)
		}
		if i > 0 && slices.Contains([]string{"api", "apis", "openapi", "version"}, name) {
			return Usage("--at %q: a target below a relay that is named %s has no view", at, name)
		}
	}
	return nil
}

// contextAt is the name of the context of a space, or of its view at a path of targets.
func contextAt(space, at string) string {
	if at == "" {
		return space
	}
	return space + "@" + at
}

// urlAt is the URL of a space, or of its view at a path of targets.
func urlAt(space, at string) string {
	if at == "" {
		return space
	}
	return strings.TrimSuffix(space, "/") + viewPath + at
}

// mustHaveSite returns an error if the first target of a path is none of the center's. Whoever may not
// read its targets learns that from the view itself.
func (c *center) mustHaveSite(ctx context.Context, at string) error {
	if at == "" {
		return nil
	}
	name, _, _ := strings.Cut(at, "/")
	_, err := c.root.Resource(syncTargets).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("--at %s: there is no site %q; see them with: skerry status", at, name)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil
	}
	return err
}
