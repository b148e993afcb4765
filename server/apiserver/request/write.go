package request

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// ForWrite returns the context of a write within a request, or beside one, of another kind than the
// request is about: upstream validates an object as of the version that is asked for. The
// subresource is "" for the object itself.
func ForWrite(ctx context.Context, of schema.GroupVersionResource, subresource string) context.Context {
	return apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true,
		APIGroup: of.Group, APIVersion: of.Version, Resource: of.Resource, Subresource: subresource})
}
