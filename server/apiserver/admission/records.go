package admission

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// Records is the admission plugin that keeps what the center records from everybody's writes: what is
// decided about where things are (bindings.skerry.dev), which it writes into the store itself, and
// what targets bring by a Placement (upsyncs.skerry.dev).
type Records struct{}

// Handles implements admission.Interface.
func (Records) Handles(o admission.Operation) bool { return o != admission.Connect }

// Validate implements admission.ValidationInterface.
func (Records) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.FromCenter(ctx) {
		return nil
	}
	switch a.GetResource().GroupResource() {
	case v1alpha1.GroupVersion.WithResource("bindings").GroupResource():
		return admission.NewForbidden(a, errors.New("only the center writes Bindings; to choose a target set the label "+
			v1alpha1.LabelTarget+", or use a Placement"))
	case v1alpha1.GroupVersion.WithResource("upsyncs").GroupResource():
		return admission.NewForbidden(a, errors.New("only the center writes Upsyncs; change spec.upsync of the Placement "+
			"of this name"))
	}
	return nil
}
