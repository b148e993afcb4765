package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/metadata"
)

// borrowCheckTime bounds the check, whether or not the client waits.
const borrowCheckTime = 10 * time.Second

// agreed checks a write that may concern a loan between spaces, and takes it back if it contradicts
// the others.
func (s *spaceStorage) agreed(ctx context.Context, to storage.Interface, key string, old, next runtime.Object) error {
	if !s.lendsOrBorrows(ctx) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), borrowCheckTime)
	defer cancel()
	err := s.all.config.Lending.Written(ctx, s.definer(ctx), s.resource(), old, next)
	if err == nil {
		return nil
	}
	o := metadata.Of(next)
	refused := apierrors.NewForbidden(s.resource(), o.GetName(), err)
	uid := o.GetUID()
	same := &storage.Preconditions{UID: &uid}
	if old == nil {
		err = to.Delete(ctx, key, next.DeepCopyObject(), same, rest.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	} else {
		err = to.GuaranteedUpdate(
			ctx,
			key,
			next.DeepCopyObject(),
			false,
			same,
			func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
				clearKey(in)
				return in, nil, s.all.config.Lending.PutBack(in, old)
			},
			nil,
		)
	}
	if err != nil && !storage.IsNotFound(err) {
		return apierrors.NewInternalError(errors.Join(refused, fmt.Errorf("and it could not be taken back: %w", err)))
	}
	return refused
}
