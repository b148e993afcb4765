package storage

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store/kine"
)

// reasonStorage is the reason of answers that the center's storage cannot serve.
const reasonStorage metav1.StatusReason = "InsufficientStorage"

// inTrouble returns the answer to a user for an error of the center's storage: 507 if the disk is
// full. It returns nil for other errors.
func inTrouble(err error) error {
	var t *kine.Trouble
	if !errors.As(err, &t) {
		return nil
	}
	out := &apierrors.StatusError{
		ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Reason: metav1.StatusReasonInternalError, Message: t.Error()},
	}
	if t.Kind == kine.Full {
		out.ErrStatus.Code, out.ErrStatus.Reason = http.StatusInsufficientStorage, reasonStorage
	}
	return out
}
