package metadata

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// IsReported reports whether this write is the own write of the center, of an object that a target
// reported.
func IsReported(ctx context.Context, obj runtime.Object) bool {
	if !request.FromCenter(ctx) {
		return false
	}
	from, has := Annotation(Of(obj), v1alpha1.AnnotationReportedFrom)
	return has && from != ""
}

// TrimReported takes the managedFields off an object that a target reported. Only the center writes
// it, and of a Pod they would be a fifth of its size in the store and in the caches.
func TrimReported(ctx context.Context, obj runtime.Object) {
	if IsReported(ctx, obj) {
		Of(obj).SetManagedFields(nil)
	}
}
