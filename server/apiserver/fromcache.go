package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

func fromCache(ctx context.Context, l rest.Lister) (runtime.Object, error) {
	return l.List(ctx, &internalversion.ListOptions{ResourceVersion: "0"})
}
