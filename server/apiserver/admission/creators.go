package admission

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// Creators is the admission plugin that notes on a new Space who made it, for the space's first
// admin. Those who are admins of everything already are not noted, nor are ServiceAccounts: an
// account of root is nobody in another space, and one of the same name there is another one.
type Creators struct{}

// Handles implements admission.Interface.
func (Creators) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutationInterface.
func (Creators) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != v1alpha1.GroupVersion.WithResource("spaces").GroupResource() ||
		request.Space(ctx) != request.RootSpace ||
		request.FromCenter(ctx) {
		return nil
	}
	obj, old := metadata.Of(a.GetObject()), metadata.Of(a.GetOldObject())
	if obj == nil {
		return nil
	}
	is, has := metadata.Annotation(obj, v1alpha1.AnnotationCreator)
	if a.GetOperation() == admission.Create {
		switch who := a.GetUserInfo(); {
		case who != nil && !strings.HasPrefix(who.GetName(), "system:") && !slices.Contains(
			who.GetGroups(),
			user.SystemPrivilegedGroup,
		):
			metadata.Annotate(obj, v1alpha1.AnnotationCreator, who.GetName())
		case has:
			return admission.NewForbidden(a, errCreator)
		}
		return nil
	}
	was, had := metadata.Annotation(old, v1alpha1.AnnotationCreator)
	switch {
	case has == had && is == was:
		return nil
	case !has && whole(ctx):
		metadata.Annotate(obj, v1alpha1.AnnotationCreator, was)
		return nil
	default:
		return admission.NewForbidden(a, errCreator)
	}
}

var errCreator = errors.New(
	"metadata.annotations[" + v1alpha1.AnnotationCreator + "]: only the center writes it; who is admin of a space " +
		"stands in its ClusterRoleBindings",
)
