package quota

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// LimitRanges is the admission plugin of LimitRanges: Kubernetes' own rules over the LimitRanges of
// the request's namespace and space. It sees the Pods and claims that users make; the Pods of a
// Deployment are made on a target, by that cluster's rules.
type LimitRanges struct {
	actions limitranger.DefaultLimitRangerActions
	Ranges  rest.Lister
}

// Handles implements admission.Interface.
func (*LimitRanges) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutationInterface.
func (l *LimitRanges) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	return l.each(ctx, a, func(r *corev1.LimitRange) error {
		return l.actions.MutateLimit(r, a.GetResource().Resource, a.GetObject())
	})
}

// Validate implements admission.ValidationInterface.
func (l *LimitRanges) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	return l.each(ctx, a, func(r *corev1.LimitRange) error {
		return l.actions.ValidateLimit(r, a.GetResource().Resource, a.GetObject())
	})
}

func (l *LimitRanges) each(ctx context.Context, a admission.Attributes, do func(*corev1.LimitRange) error) error {
	if request.FromCenter(ctx) || !l.actions.SupportsAttributes(a) {
		return nil
	}
	if old := metadata.Of(a.GetOldObject()); old != nil && old.GetDeletionTimestamp() != nil {
		return nil
	}
	list, err := storage.AsOfNow(apirequest.WithNamespace(ctx, a.GetNamespace()), l.Ranges)
	if err != nil {
		return err
	}
	items := list.(*api.LimitRangeList).Items
	for i := range items {
		if v1alpha1.Inert(items[i].Labels) {
			continue
		}
		r := &corev1.LimitRange{}
		if err := coreconv.Convert_core_LimitRange_To_v1_LimitRange(&items[i], r, nil); err != nil {
			return err
		}
		if err := do(r); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}
