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
		do = "root does not know these credentials, or they have ended. A kubeconfig of a space " +
			"is good for that space alone: use admin.kubeconfig of the center's data directory, " +
			"or ask its admin for a new one"
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
