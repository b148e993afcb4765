package sessions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// How long a site waits before it asks again when only a person can change the answer. Most can
// come back soon; a revoked one is not wanted.
const (
	retryStranger = time.Minute
	retryRevoked  = 10 * time.Minute
)

// targetUnknown is why a site is refused that has a certificate of this center and no SyncTarget.
const targetUnknown = "TargetUnknown"

// joinAgain says what to do where a site may come back with a new token.
const joinAgain = "What runs here goes on, and nothing is deleted. To join again, at the center: " +
	"skerry token create; then start the agent here once with --token-file"

// member refuses everybody but the holder of the key that is recorded for the target, with a
// *tunnel.Refused. It is asked when a session begins, at each renewal, and when the SyncTarget
// changes.
func (srv *Server) member(id tunnel.Identity) error {
	known, ok := srv.targets.get(id.Target)
	switch {
	case srv.targets.holder(id.Target, id.Key) != id.Target:
		return errRenaming(id.Target) // it was renamed since the session began
	case !ok:
		return &tunnel.Refused{Reason: targetUnknown, RetryAfter: retryStranger,
			Message: fmt.Sprintf(
				"this center has no SyncTarget %q: it was removed there, or the center was restored from a backup that is "+
					"older than the join. "+joinAgain,
				id.Target,
			)}
	case isRevoked(known.object, id.Key):
		return &tunnel.Refused{Reason: revoked, RetryAfter: retryRevoked,
			Message: fmt.Sprintf(
				"the key of this site was revoked. What runs here goes on, and nothing is deleted. To let the site back, "+
					"at the center: "+
					"skerry target release %s; skerry token create; then start the agent here once with --token-file",
				id.Target,
			)}
	case known.key != id.Key:
		return &tunnel.Refused{Reason: "KeyReplaced", RetryAfter: retryStranger,
			Message: fmt.Sprintf(
				"this center knows SyncTarget %q by another key: the name was released, another site has joined under it, or "+
					"the center was restored from a backup that is older than the join. "+joinAgain,
				id.Target,
			)}
	default:
		return nil
	}
}

// isRevoked reports whether a key is one of those that were revoked under a SyncTarget's name.
func isRevoked(target metav1.Object, key string) bool {
	return key != "" && slices.Contains(strings.Split(target.GetAnnotations()[v1alpha1.AnnotationRevoked], ","), key)
}
