package admission

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/apiserver/request"
)

// Nobody but the center writes what is decided; the core kind of the same name is another matter.
func TestRecordsAreTheCentersAlone(t *testing.T) {
	ours := schema.GroupVersionResource{Group: "skerry.dev", Version: "v1alpha1", Resource: "bindings"}
	core := schema.GroupVersionResource{Version: "v1", Resource: "bindings"}
	user := request.WithSpace(context.Background(), "shop")
	for _, operation := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
		ask := func(ctx context.Context, r schema.GroupVersionResource) error {
			return Records{}.Validate(ctx, admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "x", r, "",
				operation, nil, false, nil), nil)
		}
		if err := ask(user, ours); !apierrors.IsForbidden(err) {
			t.Errorf("%s by a user: %v", operation, err)
		}
		if err := ask(request.AsCenter(user), ours); err != nil {
			t.Errorf("%s by the center: %v", operation, err)
		}
		if err := ask(user, core); err != nil {
			t.Errorf("%s of a core binding: %v", operation, err)
		}
	}
}
