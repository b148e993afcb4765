package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// Imports is the admission plugin of the annotation that makes a new object one that was exported
// before: only an admin of the center may say so, since an owner is known by its UID. The storage
// takes the annotation off and does it.
type Imports struct{}

// Handles implements admission.Interface.
func (Imports) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface: it sees what all that changes objects has
// left.
func (Imports) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if request.FromCenter(ctx) && a.GetOperation() == admission.Update ||
		a.GetResource().GroupResource() == registrykey.Spaces {
		return nil
	}
	text, has := metadata.Annotation(metadata.Of(a.GetObject()), v1alpha1.AnnotationImport)
	was, had := metadata.Annotation(metadata.Of(a.GetOldObject()), v1alpha1.AnnotationImport)
	if !has || had && was == text {
		return nil
	}
	name := "metadata.annotations[" + v1alpha1.AnnotationImport + "]: "
	switch who := a.GetUserInfo(); {
	case a.GetOperation() == admission.Update:
		return admission.NewForbidden(a, errors.New(name+"an object that exists is who it is"))
	case !request.FromCenter(ctx) && (who == nil || !slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)):
		return admission.NewForbidden(
			a,
			errors.New(name+"only an admin of the center may import an object with its UID; leave the annotation out, or "+
				"have an admin do it: skerry space import --with-uids"),
		)
	}
	if _, err := metadata.ParseIdentity(text); err != nil {
		return admission.NewForbidden(a, fmt.Errorf("%s%w", name, err))
	}
	return nil
}
