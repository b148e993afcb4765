package response

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NotFound is the answer to a path that does not exist.
func NotFound() *metav1.Status {
	return Status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// Status returns a failure with its HTTP code, its reason and a message for people.
func Status(code int32, reason metav1.StatusReason, msg string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     code,
		Reason:   reason,
		Message:  msg,
	}
}

// Write answers with a Status as JSON, which every Kubernetes client reads.
func Write(w http.ResponseWriter, s *metav1.Status) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(int(s.Code))
	json.NewEncoder(w).Encode(s)
}

// TooManyRequests asks the client to try again a second later.
func TooManyRequests(why string) *metav1.Status {
	s := Status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, why)
	s.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return s
}

// WriteTooMany answers with a Status and the header Retry-After.
func WriteTooMany(w http.ResponseWriter, s *metav1.Status) {
	w.Header().Set("Retry-After", "1")
	Write(w, s)
}
