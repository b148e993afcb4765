package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// What a borrower and its lender agree on stands in objects that are written one by one: the Space, the definitions, the borrower's objects. So who has written
// one of them looks at the others after that, at what is stored, and takes back what he wrote if it does not go together with them. Of two who write at once, on whichever replicas,
// at least one sees the other. What takes time is marked before it is looked at: a definition and a Space that are being deleted say so before they go.

// borrowCheckTime is how long a look may take, whether or not the client waits.
const borrowCheckTime = 10 * time.Second

// borrowCheck looks at what is stored.
type borrowCheck struct{ borrowGuard }

// now is the guard that knows what Spaces borrow at this moment.
func (c borrowCheck) now(ctx context.Context) (borrowGuard, error) {
	b := newBorrows()
	_, all, err := follow.List(ctx, c.client, registrykey.SpacePrefix)
	if err == nil {
		err = b.Reset(0, all)
	}
	return borrowGuard{b, c.client}, err
}

// unused refuses to let a definition go that objects of a borrower are made of. The definition is being deleted already, so none comes any more.
func (c borrowCheck) unused(ctx context.Context, lender string, r schema.GroupResource) error {
	g, err := c.now(ctx)
	if err != nil {
		return err
	}
	return g.unused(ctx, lender, r)
}

// served tells whether a new object of a borrower is made of a definition that stays.
func (c borrowCheck) served(ctx context.Context, space, lender string, r schema.GroupResource) error {
	var crd apiextensionsv1.CustomResourceDefinition
	found, err := c.stored(ctx, registrykey.CRDPrefix+lender+"/"+r.String(), &crd)
	if err != nil {
		return err
	}
	var s v1alpha1.Space
	if _, err := c.stored(ctx, registrykey.SpacePrefix+space, &s); err != nil {
		return err
	}
	borrowed := false
	for _, api := range s.Spec.APIs {
		borrowed = borrowed || api.Group == r.Group && api.FromSpace == lender
	}
	if !found || crd.DeletionTimestamp != nil || !isShared(crd.Annotations) || !borrowed {
		return fmt.Errorf("space %s is not served with the definition of %s in space %s any more", space, r, lender)
	}
	return nil
}

// written looks again after a write of a space: next is what is stored now, old what was before, nil for nothing.
func (c borrowCheck) written(ctx context.Context, s *spaceStorage, space string, old, next runtime.Object) error {
	lender := s.definer(ctx)
	switch {
	case lender != "" && lender != space:
		if old != nil {
			return nil
		}
		return c.served(ctx, space, lender, s.resource())
	case request.FromCenter(ctx) || space == request.OwnSpace:
		return nil
	case s.resource() == registrykey.CRDs:
		if old != nil && isShared(metadata.Of(old).GetAnnotations()) == isShared(metadata.Of(next).GetAnnotations()) {
			return nil
		}
		g, err := c.now(ctx)
		if err != nil {
			return err
		}
		return g.definition(ctx, space, old, next)
	case s.prefix == registrykey.SpacesPath && space == request.RootSpace:
		return c.space(ctx, metadata.Of(next).GetName(), old, next)
	}
	return nil
}

// agreed looks again after a write that may concern what spaces lend each other, and takes it back if it is not agreed.
func (s *spaceStorage) agreed(ctx context.Context, to storage.Interface, key string, old, next runtime.Object) error {
	if !s.lendsOrBorrows(ctx) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), borrowCheckTime)
	defer cancel()
	err := s.all.check.written(ctx, s, request.Space(ctx), old, next)
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
		err = to.GuaranteedUpdate(ctx, key, next.DeepCopyObject(), false, same, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			clearKey(in)
			return in, nil, putBack(in, old)
		}, nil)
	}
	if err != nil && !storage.IsNotFound(err) {
		return apierrors.NewInternalError(errors.Join(refused, fmt.Errorf("and it could not be taken back: %w", err)))
	}
	return refused
}

// putBack gives an object what the borrower and the lender had agreed on before.
func putBack(in, old runtime.Object) error {
	if space, ok := in.(*unstructured.Unstructured); ok {
		apis, found, err := unstructured.NestedSlice(old.(*unstructured.Unstructured).Object, "spec", "apis")
		if err != nil || !found {
			unstructured.RemoveNestedField(space.Object, "spec", "apis")
			return err
		}
		return unstructured.SetNestedSlice(space.Object, apis, "spec", "apis")
	}
	o := metadata.Of(in)
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	if isShared(metadata.Of(old).GetAnnotations()) {
		notes[v1alpha1.AnnotationShared] = "true"
	}
	o.SetAnnotations(notes)
	return nil
}

// Borrowers lists the spaces that borrow definitions of a space at this moment.
func (s *Server) Borrowers(ctx context.Context, space string) ([]string, error) {
	g, err := s.storages.check.now(ctx)
	if err != nil {
		return nil, fmt.Errorf("list who borrows of space %s: %w", space, err)
	}
	return g.borrows.by(space, ""), nil
}
