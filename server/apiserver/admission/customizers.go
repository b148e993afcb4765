package admission

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// Customizers is the admission plugin that refuses Customizers which no target could apply, with
// the field and the fix, and more of them than a space may have.
type Customizers struct {
	// Count is how many a space has; nil when that is not bounded.
	Count func(space string) int
}

// Handles implements admission.Interface.
func (Customizers) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (c Customizers) Validate(
	ctx context.Context,
	a admission.Attributes,
	_ admission.ObjectInterfaces,
) error {
	r := a.GetResource()
	if r.Group != store.RulesGroup || r.Resource != store.RulesResource || a.GetSubresource() != "" {
		return nil
	}
	space := request.Space(ctx)
	if space == request.RootSpace {
		return apierrors.NewForbidden(r.GroupResource(), a.GetName(), fmt.Errorf(
			"a Customizer changes the objects of its own space, and those of root go nowhere: write it in that space"))
	}
	if a.GetOperation() == admission.Create && c.Count != nil && c.Count(space) >= variant.MaxPerSpace {
		return apierrors.NewForbidden(r.GroupResource(), a.GetName(), fmt.Errorf(
			"the space has %d Customizers and may have no more: put more rules into one", variant.MaxPerSpace))
	}
	body, err := json.Marshal(a.GetObject())
	if err != nil {
		return fmt.Errorf("encode Customizer %s: %w", a.GetName(), err)
	}
	_, problems := variant.Parse(body)
	if len(problems) == 0 {
		return nil
	}
	var all field.ErrorList
	for _, p := range problems {
		all = append(all, &field.Error{Type: field.ErrorTypeForbidden, Field: p.Field, Detail: p.Message})
	}
	kind := schema.GroupKind{Group: r.Group, Kind: "Customizer"}
	return apierrors.NewInvalid(kind, a.GetName(), all)
}
