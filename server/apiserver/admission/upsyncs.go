package admission

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/upsync"
)

// Upsyncs is the admission plugin that refuses a Placement whose spec.upsync asks for what never comes
// from a target, with the field and the fix. What was stored before and is not changed is left.
type Upsyncs struct{}

// Handles implements admission.Interface.
func (Upsyncs) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (Upsyncs) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != v1alpha1.GroupVersion.WithResource("placements").GroupResource() ||
		a.GetSubresource() != "" || request.FromCenter(ctx) {
		return nil
	}
	asked, was := upsyncOf(a.GetObject()), upsyncOf(a.GetOldObject())
	if len(asked) == 0 || string(asked) == string(was) {
		return nil
	}
	var clauses []upsync.Clause
	if err := json.Unmarshal(asked, &clauses); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("spec.upsync is not understood: %s", err))
	}
	problems := upsync.Check("spec.upsync", clauses)
	if len(problems) == 0 {
		return nil
	}
	var all field.ErrorList
	for _, p := range problems {
		all = append(all, &field.Error{Type: field.ErrorTypeForbidden, Field: p.Field, Detail: p.Message})
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Placement").GroupKind(), a.GetName(), all)
}

// upsyncOf is spec.upsync of a Placement as JSON, nil where there is none.
func upsyncOf(o runtime.Object) []byte {
	obj, ok := o.(*unstructured.Unstructured)
	if !ok || obj == nil {
		return nil
	}
	list, found, err := unstructured.NestedSlice(obj.Object, "spec", "upsync")
	if !found || err != nil || len(list) == 0 {
		return nil
	}
	out, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return out
}
