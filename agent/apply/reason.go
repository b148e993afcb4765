package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/variant"
)

// maxMessage bounds the text of a report, in bytes.
const maxMessage = 1024

// failure is how to handle an error: what to report, after how many failures in a row, and when to
// try again.
type failure struct {
	report      store.ReportError
	patience    int
	quiet       bool // never reported
	refused     bool // the target refuses the object as it is
	base, limit time.Duration
}

// Retry times. What waits for something else to arrive is tried soon. A refusal may be lifted at
// any time, as when a quota is raised, but frequent tries would only load the target.
const (
	soon      = 50 * time.Millisecond
	soonLimit = 5 * time.Second
	slow      = time.Second
	slowLimit = 2 * time.Minute
)

// onItsWay is after how many failures it is said that something is missing which a busy link or site may
// be about to bring: after about ten seconds.
const onItsWay = 8

// needNotTravel is the way out for a definition that a site refuses: most are of operators that run in
// the space, and nobody at the site looks at their objects.
const needNotTravel = "if only controllers of the space act on its objects, it need not come to sites: " +
	"kubectl annotate crd NAME skerry.dev/placement=None"

// classify turns an error into a failure. Refusals are reported at once; what may pass by itself,
// after some tries.
func classify(err error) failure {
	var changed *changedError
	var left *site.ForeignContentsError
	var taken *takenError
	var fields *fieldConflict
	var wrong *policyError
	var awaited *deletingError
	var refused *policy.Refusal
	var ending *endingNamespaceError
	var variety *variant.Error
	var ruled *ruleError
	passing := failure{patience: 3, base: soon, limit: soonLimit}
	refusal := failure{refused: true, base: slow, limit: slowLimit}
	if errors.As(err, &refused) && refused.Reason == policy.ReasonDefinition {
		err = fmt.Errorf("%w; %s", err, needNotTravel)
	}
	switch {
	case errors.As(err, &variety):
		return refusal.says(variety.Reason(), err)
	case errors.As(err, &ruled):
		return passing.says("CustomizerMissing", err)
	case errors.As(err, &changed):
		return passing.says("Conflict", err)
	case errors.As(err, &awaited) && len(awaited.finalizers) > 0:
		passing.patience, passing.limit = 5, slowLimit // the watch tells when it is gone
		return passing.says("WaitingForFinalizers", err)
	case errors.Is(err, errOthersLeft):
		passing.patience = onItsWay
		return passing.says("Deleting", err)
	case errors.As(err, &awaited), errors.Is(err, site.ErrOwnLeft):
		passing.quiet = true
		return passing.says("Deleting", err)
	case errors.As(err, &left):
		return refusal.says("NotEmpty", err)
	case errors.As(err, &taken):
		return refusal.says("AlreadyExists", err)
	case errors.As(err, &refused) && refused.Passing:
		passing.patience, passing.limit = onItsWay, slowLimit
		return passing.says(refused.Reason, err)
	case errors.As(err, &refused):
		return refusal.says(refused.Reason, err)
	case errors.Is(err, site.ErrNoNamespace):
		return passing.says("NamespaceMissing", err)
	case errors.As(err, &fields):
		return refusal.says("Conflict", err)
	case errors.As(err, &wrong):
		return refusal.says("Invalid", err)
	case errors.Is(err, target.ErrNotServed):
		return passing.says("NotServed", err)
	case missingNamespace(err):
		return passing.says("NamespaceMissing", err)
	case errors.As(err, &ending), terminating(err):
		return passing.says("NamespaceTerminating", err)
	case site.AccountRefused(err):
		passing.patience, passing.limit = 6, slowLimit
		f := passing.says("Forbidden", err)
		f.report.Message += "; the site's admin gives spaces rights by the ClusterRole " + target.SpaceRole
		return f
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return refusal.says("QuotaExceeded", err)
	case apierrors.IsForbidden(err):
		return refusal.says("Forbidden", err)
	case notInSchema(err): // a definition that has the field may have come a moment ago
		refusal.patience, refusal.base = onItsWay, soon
		return refusal.says("Invalid", err)
	case apierrors.IsInvalid(err),
		apierrors.IsBadRequest(err),
		apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err):
		return refusal.says("Invalid", err)
	case apierrors.IsUnauthorized(err):
		return refusal.says("Unauthorized", err)
	case apierrors.IsConflict(err):
		return passing.says("Conflict", err)
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !transient(err):
		return refusal.says(string(apierrors.ReasonForError(err)), err)
	case refusedWith400s(err):
		return refusal.says("Refused", err)
	default: // the network, a timeout, an overloaded or restarting API server
		passing.limit = 30 * time.Second
		return passing.says("Unavailable", err)
	}
}

// notInSchema reports whether the target does not know a field of the object, as it is desired or as
// it is stored there. It answers a server-side apply with 500 and no reason then, and always will.
func notInSchema(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		(strings.Contains(err.Error(), "field not declared in schema") ||
			strings.Contains(err.Error(), "failed to create typed "))
}

// terminating reports whether the target answered that the namespace of the object is being deleted.
func terminating(err error) bool { return apierrors.HasStatusCause(err, "NamespaceTerminating") }

func transient(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(
			err,
		) || apierrors.IsInternalError(err) || errors.Is(err, context.DeadlineExceeded)
}

func refusedWith400s(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 && !transient(err)
}

// missingNamespace reports whether the target answered that the namespace of the object does not
// exist.
func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Group == ""
}

// says fills in the report, in the target's own words where it has any.
func (f failure) says(reason string, err error) failure {
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		message = status.Status().Message
	}
	message = clip.Dotted(message, maxMessage)
	var varied *variedError
	if errors.As(err, &varied) && !strings.HasSuffix(message, varied.words()) {
		message += varied.words()
	}
	f.report = store.ReportError{Reason: reason, Message: message}
	return f
}
