package storage

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// FromCache lists a resource of the space of ctx from its cache, which may be behind.
func FromCache(ctx context.Context, l rest.Lister) (runtime.Object, error) {
	return l.List(ctx, &internalversion.ListOptions{ResourceVersion: "0"})
}

// AsOfNow lists a resource of the space of ctx with every write that was acknowledged. The cache
// answers, at once where it is not behind. It is read where what is missed would be missed for
// ever: a new object is filled in once, and its user may have made what it is filled in from a
// moment ago.
func AsOfNow(ctx context.Context, l rest.Lister) (runtime.Object, error) {
	return l.List(ctx, &internalversion.ListOptions{})
}

// GetCached reads an object from the shared cache, and from the database when the cache does not
// have the object yet.
func GetCached(ctx context.Context, from rest.Getter, ns, name string) (runtime.Object, error) {
	ctx = apirequest.WithNamespace(ctx, ns)
	obj, err := from.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return from.Get(ctx, name, &metav1.GetOptions{})
	}
	return obj, err
}
