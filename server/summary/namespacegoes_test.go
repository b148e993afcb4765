package summary

import (
	"io"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// TestNamespaceGoes: an Event for what is in a namespace that is being deleted is given up at once;
// one that is refused for another reason is an error.
func TestNamespaceGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := apierrors.NewForbidden(corev1.Resource("events"), "x", io.EOF)
		going := refused.ErrStatus.DeepCopy()
		going.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		for _, tc := range []struct {
			what string
			err  error
			goes bool
		}{
			{"its namespace goes", &apierrors.StatusError{ErrStatus: *going}, true},
			{"its namespace is gone", apierrors.NewNotFound(corev1.Resource("namespaces"), "x"), true},
			{"it is refused", refused, false},
		} {
			c := newCenter(t)
			c.fail = []error{tc.err}
			r := &recorder{api: c}
			e := placement.Event{Key: store.Key{Space: "shop", Namespace: "web", Resource: "pods", Name: "x"}, Reason: "R"}
			if err := r.write(t.Context(), e); (err == nil) != tc.goes {
				t.Errorf("%s: %v", tc.what, err)
			}
		}
	})
}
