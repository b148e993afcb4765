package storage

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// FromCache lists a resource of the space of ctx from its cache, however old that is.
func FromCache(ctx context.Context, l rest.Lister) (runtime.Object, error) {
	return l.List(ctx, &internalversion.ListOptions{ResourceVersion: "0"})
}
