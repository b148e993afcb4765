package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
)

func TestClassify(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	status := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{
			ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message},
		}
	}
	cases := []struct {
		err    error
		reason string
		atOnce bool
	}{
		{&takenError{}, "AlreadyExists", true},
		{&fieldConflict{}, "Conflict", true},
		{&policyError{errors.New("x")}, "Invalid", true},
		{apierrors.NewForbidden(configMaps, "c", errors.New("exceeded quota: q")), "QuotaExceeded", true},
		{apierrors.NewForbidden(configMaps, "c", errors.New("no")), "Forbidden", true},
		{status(422, metav1.StatusReasonInvalid, "bad"), "Invalid", true},
		{status(400, metav1.StatusReasonBadRequest, "webhook denied"), "Invalid", true},
		{status(401, metav1.StatusReasonUnauthorized, "who"), "Unauthorized", true},
		{status(418, "", "teapot"), "Refused", true},
		{status(500, "", "failed to create typed patch object (n/c; example.com/v1, Kind=Widget): "+
			".spec.colour: field not declared in schema"), "Invalid", false},
		{status(500, "", "failed to create manager for existing fields: .spec.colour: field not declared in schema"),
			"Invalid", false},
		{&policy.Refusal{Reason: policy.ReasonKind}, "KindNotAllowed", true},
		{&policy.Refusal{Reason: policy.ReasonServiceAccount, Passing: true}, "ServiceAccountNotAllowed", false},
		{&site.ForeignContentsError{Names: []string{"a", "b", "c", "d"}}, "NotEmpty", true},
		{&deletingError{finalizers: []string{"example.com/slow"}}, "WaitingForFinalizers", false},
		{fmt.Errorf("x: %w", target.ErrNotServed), "NotServed", false},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), "NamespaceMissing", false},
		{apierrors.NewConflict(configMaps, "c", errors.New("x")), "Conflict", false},
		{status(503, metav1.StatusReasonServiceUnavailable, "starting"), "Unavailable", false},
		{status(429, metav1.StatusReasonTooManyRequests, "later"), "Unavailable", false},
		{status(500, metav1.StatusReasonInternalError, "webhook timeout"), "Unavailable", false},
		{status(502, "", "<html>"), "Unavailable", false},
		{errors.New("connection refused"), "Unavailable", false},
		{context.DeadlineExceeded, "Unavailable", false},
	}
	for _, c := range cases {
		f := classify(c.err)
		if f.report.Reason != c.reason || (f.patience == 0) != c.atOnce || f.base <= 0 || f.limit < f.base {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
	for reason, told := range map[string]bool{policy.ReasonDefinition: true, policy.ReasonKind: false} {
		refused := fmt.Errorf("apply: %w", &policy.Refusal{Reason: reason, Message: "the site denies it"})
		said := classify(refused).report.Message
		if !strings.Contains(said, "the site denies it") ||
			strings.Contains(said, "kubectl annotate crd NAME skerry.dev/placement=None") != told {
			t.Errorf("%s: %q", reason, said)
		}
	}
	if f := classify(&deletingError{}); !f.quiet {
		t.Error("an ordinary deletion is reported as a failure")
	}
	long := classify(status(422, metav1.StatusReasonInvalid, strings.Repeat("ä", 5000)))
	if len(long.report.Message) > maxMessage+3 || strings.Contains(long.report.Message, "\uFFFD") {
		t.Errorf("a message of %d bytes", len(long.report.Message))
	}
}
