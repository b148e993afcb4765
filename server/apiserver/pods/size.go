package pods

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// How much a claim requests is a wish of whoever uses it: operators let volumes grow so. The site
// says whether its StorageClass can, and the mirror shows what it has become.

// requested is how much storage a claim requests. It is zero for everything else.
func requested(obj runtime.Object) (size resource.Quantity) {
	if claim, ok := obj.(*api.PersistentVolumeClaim); ok {
		size = claim.Spec.Resources.Requests[api.ResourceStorage]
	}
	return size
}

// resized is how much a claim is to request from now on, empty where that stays.
func resized(old, obj runtime.Object) string {
	size := requested(obj)
	if size.Cmp(requested(old)) == 0 {
		return ""
	}
	return size.String()
}

// newRequests judges what a claim is to request: of storage another quantity, nothing else.
func newRequests(now, was *api.PersistentVolumeClaim) field.ErrorList {
	at := field.NewPath("spec", "resources", "requests")
	if _, says := now.Spec.Resources.Requests[api.ResourceStorage]; !says {
		return field.ErrorList{field.Required(at.Key(string(api.ResourceStorage)), "")}
	}
	rest := now.DeepCopy()
	rest.Spec.Resources.Requests[api.ResourceStorage] = was.Spec.Resources.Requests[api.ResourceStorage]
	if !equality.Semantic.DeepEqual(rest.Spec.Resources.Requests, was.Spec.Resources.Requests) {
		return field.ErrorList{field.Forbidden(at, "of a claim only storage may be requested otherwise")}
	}
	return nil
}
