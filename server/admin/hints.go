package admin

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// hinted adds to an answer of the kube API what to do about it, where the answer does not say it.
func hinted(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	do := ""
	switch {
	case apierrors.IsUnauthorized(err):
		do = "these credentials are not known there: they have ended or were revoked, or are of a space, whose " +
			"kubeconfig is good for that space alone. For the center use admin.kubeconfig of its data directory, or ask " +
			"its admin; for a space ask its admin for a new one (skerry space kubeconfig SPACE --user NAME)"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "): // by RBAC
		do = "this needs more rights: use admin.kubeconfig of the center's data directory, or " +
			"ask its admin; for a space ask one of its cluster-admins"
	case apierrors.IsTooManyRequests(err):
		do = "try again in a moment"
	case apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		do = "the center's log says why: journalctl -u skerry-center"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, do)
}
