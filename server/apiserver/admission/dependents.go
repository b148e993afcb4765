package admission

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// KeptDependents is the admission plugin that warns a user who deletes a placed workload with orphan
// of what its targets keep: it was made there, and is shown in the space through the workload alone.
type KeptDependents struct{}

// Handles implements admission.Interface.
func (KeptDependents) Handles(op admission.Operation) bool { return op == admission.Delete }

// Validate implements admission.ValidationInterface. It refuses nothing.
func (KeptDependents) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	old := metadata.Of(a.GetOldObject())
	if old == nil || a.GetSubresource() != "" || request.FromCenter(ctx) ||
		old.GetAnnotations()[v1alpha1.AnnotationTargets] == "" || !placement.OwnsPods(placedKey(ctx, a, old)) {
		return nil
	}
	if keepsDependents(a.GetOperationOptions()) {
		warning.AddWarning(ctx, "", "what "+a.GetName()+" owns stays at its targets and is not shown here "+
			"until an object that selects it takes it over; it is deleted with its namespace, "+
			"or with: kubectl annotate namespace "+a.GetNamespace()+" "+v1alpha1.AnnotationDependents+"-")
	}
	return nil
}

func keepsDependents(options any) bool {
	o, ok := options.(*metav1.DeleteOptions)
	return ok && o != nil && o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationOrphan
}
