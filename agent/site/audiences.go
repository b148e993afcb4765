package site

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
)

// projectsOwnToken refuses Pods that would have a token for the cluster's own API, by the issuer
// that the cluster says. One that says none is judged by the policy alone.
func projectsOwnToken(ctx context.Context, o *Object, p *policy.Policy) error {
	audiences := p.Audiences(o.kind(), o.Body)
	if len(audiences) == 0 {
		return nil
	}
	issuer, err := o.Client.Issuer(ctx)
	switch {
	case isNotServed(err), apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("ask the cluster for the issuer of its tokens: %w", err)
	}
	return policy.Issuer(audiences, issuer)
}
