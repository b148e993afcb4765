package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/fields"
)

// Placements is the admission plugin that says which Placements belong where: in root those that
// speak for spaces, in a space those that speak for it alone. What the center keeps in a space for a
// Placement of root is the center's: nobody else makes, changes or deletes it. Hooks by URL lead where
// webhooks of spaces may.
type Placements struct {
	// CheckURL refuses a URL that the center may not dial for a space; nil refuses none.
	CheckURL func(url string) error
}

// Handles implements admission.Interface.
func (Placements) Handles(admission.Operation) bool { return true }

// Validate implements admission.ValidationInterface.
func (p Placements) Validate(
	ctx context.Context,
	a admission.Attributes,
	_ admission.ObjectInterfaces,
) error {
	if a.GetResource().
		GroupResource() !=
		v1alpha1.GroupVersion.WithResource("placements").
			GroupResource() ||
		request.FromCenter(ctx) {
		return nil
	}
	if request.Space(ctx) != request.RootSpace {
		if err := refuseCopy(a); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	obj, ok := a.GetObject().(*unstructured.Unstructured)
	if !ok || a.GetOperation() == admission.Delete || a.GetSubresource() != "" {
		return nil
	}
	if err := belongs(request.Space(ctx) == request.RootSpace, obj); err != nil {
		return admission.NewForbidden(a, err)
	}
	if err := p.checkHooks(a, obj); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// checkHooks refuses hooks with an address that the center may not dial for a space, unless the
// Placement had them before.
func (p Placements) checkHooks(a admission.Attributes, obj *unstructured.Unstructured) error {
	if p.CheckURL == nil {
		return nil
	}
	var before []string
	if old, ok := a.GetOldObject().(*unstructured.Unstructured); ok && old != nil {
		before = hookURLs(old.Object)
	}
	for i, url := range hookURLs(obj.Object) {
		if url == "" || slices.Contains(before, url) {
			continue
		}
		if err := p.CheckURL(url); err != nil {
			return fmt.Errorf("spec.move.beforeLeaving[%d].webhook.url: %w", i, err)
		}
	}
	return nil
}

// hookURLs are those of the hooks of a Placement, empty for hooks without one.
func hookURLs(placement map[string]any) (out []string) {
	for h := range fields.Maps(placement, "spec", "move", "beforeLeaving") {
		out = append(out, fields.String(h, "webhook", "url"))
	}
	return out
}

// refuseCopy refuses a user's write of what is kept for a Placement of root.
func refuseCopy(a admission.Attributes) error {
	name := a.GetName()
	if o := metadata.Of(a.GetObject()); o != nil && name == "" {
		name = o.GetName() + o.GetGenerateName()
	}
	if o := metadata.Of(a.GetOldObject()); o != nil && name == "" { // of a collection that is deleted
		name = o.GetName()
	}
	if !v1alpha1.IsPolicy(name) {
		return nil
	}
	if a.GetOperation() == admission.Create {
		return fmt.Errorf(
			"metadata.name: names that begin with %q are those of the platform's policies, which the "+
				"center keeps here; choose another name",
			v1alpha1.PolicyPrefix,
		)
	}
	return fmt.Errorf(
		"this is a policy of the platform, the Placement %s of root, and is changed there alone; "+
			"ask the platform's admin, or write a Placement of this space",
		name[len(v1alpha1.PolicyPrefix):],
	)
}

// belongs reports why a Placement does not belong into root, or into a space.
func belongs(root bool, o metav1.Object) error {
	spec, _ := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
	selects, overrides := spec["spaceSelector"] != nil, spec["precedence"] != nil
	switch {
	case root && !selects:
		return errors.New(
			"spec.spaceSelector: is needed in root, where nothing is placed: write {} for all spaces, " +
				"matchLabels for those with these labels, or apply the Placement in a space (skerry space use NAME)",
		)
	case !root && selects:
		return errors.New(
			"spec.spaceSelector: a Placement of a space speaks for that space alone: leave it out, " +
				"or let the platform's admin apply it in root",
		)
	case !root && overrides:
		return errors.New(
			"spec.precedence: only Placements of root have it: leave it out, and order the Placements " +
				"of a space by spec.priority",
		)
	}
	return nil
}
