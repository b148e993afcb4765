package kinds

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// SettledClaim lets the center show the volume that a claim has got, even another one than before.
// Users may send the claim as they created it.
type SettledClaim struct{ rest.RESTUpdateStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s SettledClaim) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	after, before := obj.(*api.PersistentVolumeClaim), old.(*api.PersistentVolumeClaim)
	if chosen := v1alpha1.ReadAllocated(before.Annotations); !request.FromCenter(ctx) {
		if after.Spec.VolumeName == "" && before.Spec.VolumeName == chosen.VolumeName {
			after.Spec.VolumeName = before.Spec.VolumeName
		}
		if class := before.Spec.StorageClassName; after.Spec.StorageClassName == nil && class != nil &&
			*class == chosen.StorageClass {
			after.Spec.StorageClassName = class
		}
	}
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s SettledClaim) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	before, after := old.(*api.PersistentVolumeClaim).DeepCopy(), obj.(*api.PersistentVolumeClaim)
	switch {
	case request.FromCenter(ctx):
		before.Spec.VolumeName, before.Spec.StorageClassName = after.Spec.VolumeName, after.Spec.StorageClassName
		old = before
	case withdraws(before, after):
		before.Spec.Resources = after.Spec.Resources
		old = before
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
}

// withdraws reports whether a user takes back the growth of a claim that a target refuses: it has the size
// that it has there. A cluster refuses such a growth at once, and so has nothing to take back.
func withdraws(before, after *api.PersistentVolumeClaim) bool {
	has, wanted := before.Status.Capacity[api.ResourceStorage], after.Spec.Resources.Requests[api.ResourceStorage]
	return wanted.Cmp(has) == 0 && slices.ContainsFunc(before.Status.Conditions,
		func(c api.PersistentVolumeClaimCondition) bool {
			return string(c.Type) == v1alpha1.ConditionObjectSynced && c.Status == api.ConditionFalse
		})
}

// ClaimEnds keeps a user's claim that is placed until its target has no more of it: there it may be in
// use, as in a cluster, where a finalizer keeps it. Namespaces and owners do not wait for that. With a
// grace period of 0 a user does not, either.
func ClaimEnds(s *genericregistry.Store) {
	s.DeleteStrategy = claimDelete{mirrorDelete{s.DeleteStrategy}}
}

type claimDelete struct{ mirrorDelete }

// CheckGracefulDelete implements rest.RESTGracefulDeleteStrategy.
func (s claimDelete) CheckGracefulDelete(ctx context.Context, obj runtime.Object, o *metav1.DeleteOptions) bool {
	targets, _ := metadata.Annotation(metadata.Of(obj), v1alpha1.AnnotationTargets)
	if request.FromCenter(ctx) || targets == "" {
		return s.mirrorDelete.CheckGracefulDelete(ctx, obj, o)
	}
	if o.GracePeriodSeconds == nil {
		least := int64(1)
		o.GracePeriodSeconds = &least
	}
	return true
}
