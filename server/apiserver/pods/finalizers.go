package pods

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// Finalizers of an object that was born at a site are those of its mirror. A controller of the space
// sees what has gone at the site as it was last, until it takes its finalizer off. The site does not
// know of them: one that is cut off could not end the object, and its namespace and its nodes would
// wait for a controller that is elsewhere.

// maxFinalizers bounds the finalizers of a mirror. No quota counts mirrors.
const maxFinalizers = 32

// newFinalizers judges the finalizers that a request wants.
func newFinalizers(now, was metav1.Object, at *field.Path) field.ErrorList {
	wanted := now.GetFinalizers()
	if slices.Equal(wanted, was.GetFinalizers()) {
		return nil
	}
	if len(wanted) > maxFinalizers {
		return field.ErrorList{field.TooMany(at, len(wanted), maxFinalizers)}
	}
	errs := validation.ValidateFinalizers(wanted, at)
	for i, name := range wanted {
		if name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents {
			errs = append(errs, field.Forbidden(at.Index(i),
				"the site's garbage collector decides about what it owns; say it when you delete it"))
		}
	}
	return errs
}

// setOwn writes the finalizers and the owners of a mirror. With the last finalizer goes a mirror
// whose object has gone at the site.
func (s siteWrites) setOwn(
	ctx context.Context,
	old, wanted runtime.Object,
	o *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	was := metadata.Of(old)
	change := func(_ context.Context, _, now runtime.Object) (runtime.Object, error) {
		if metadata.Of(now).GetUID() != was.GetUID() || !sameOwn(now, old) {
			return nil, apierrors.NewConflict(s.kind, was.GetName(),
				errors.New("its finalizers or its owners have changed; read it again, and try again"))
		}
		out := now.DeepCopyObject()
		metadata.Of(out).SetFinalizers(metadata.Of(wanted).GetFinalizers())
		setOwners(metadata.Of(out), was, metadata.Of(wanted).GetOwnerReferences())
		return out, nil
	}
	return s.here.Update(
		request.AsCenter(ctx),
		was.GetName(),
		rest.DefaultUpdatedObjectInfo(nil, change),
		rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc,
		false,
		&metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager},
	)
}
