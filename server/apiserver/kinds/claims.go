package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
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
	if request.FromCenter(ctx) {
		before := old.(*api.PersistentVolumeClaim).DeepCopy()
		after := obj.(*api.PersistentVolumeClaim)
		before.Spec.VolumeName, before.Spec.StorageClassName = after.Spec.VolumeName, after.Spec.StorageClassName
		old = before
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
}
