package admission

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// NoSuchTarget is the admission plugin that warns of a label, a Placement or the annotation skerry.dev/evict
// with the name of a target that its space does not have, or with labels that none has. It is no error: the
// target may come later.
type NoSuchTarget struct {
	// Unknown says which of some names a space has no target by, and which of some selectors select none;
	// empty where all lead somewhere. Nil says nothing.
	Unknown func(space string, names []string, selectors []labels.Selector) string
}

// Handles implements admission.Interface.
func (NoSuchTarget) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (p NoSuchTarget) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj := metadata.Of(a.GetObject())
	if p.Unknown == nil || obj == nil || request.FromCenter(ctx) || a.GetSubresource() != "" {
		return nil
	}
	p.evicted(ctx, obj, metadata.Of(a.GetOldObject()))
	names, selectors := wishedTargets(a, a.GetObject())
	was, selected := wishedTargets(a, a.GetOldObject())
	if len(names)+len(selectors) == 0 || slices.Equal(names, was) && sameSelectors(selectors, selected) {
		return nil
	}
	if text := p.Unknown(request.Space(ctx), names, selectors); text != "" {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// evicted warns of targets that the object is to leave and that there are not.
func (p NoSuchTarget) evicted(ctx context.Context, obj, old metav1.Object) {
	word, was := obj.GetAnnotations()[v1alpha1.AnnotationEvict], ""
	if old != nil {
		was = old.GetAnnotations()[v1alpha1.AnnotationEvict]
	}
	if word == was {
		return
	}
	for _, name := range placement.Split(word) {
		if text := p.Unknown(request.Space(ctx), []string{name}, nil); text != "" {
			warning.AddWarning(ctx, "", fmt.Sprintf("metadata.annotations[%s]: nothing leaves %.80q: %s",
				v1alpha1.AnnotationEvict, name, text))
		}
	}
}

// wishedTargets are the targets that an object wishes by name and by labels. The object may be nil.
func wishedTargets(a admission.Attributes, obj runtime.Object) (names []string, selectors []labels.Selector) {
	if is := metadata.Of(obj); is != nil {
		if label := is.GetLabels()[v1alpha1.LabelTarget]; label != "" && label != v1alpha1.TargetNone {
			names = append(names, label)
		}
	}
	of, ok := obj.(*unstructured.Unstructured)
	placements := v1alpha1.GroupVersion.WithResource("placements").GroupResource()
	if !ok || of == nil || a.GetResource().GroupResource() != placements {
		return names, nil
	}
	listed, _, _ := unstructured.NestedStringSlice(of.Object, "spec", "targets", "names")
	all, _, _ := unstructured.NestedSlice(of.Object, "spec", "targets", "selectors")
	groups, _, _ := unstructured.NestedSlice(of.Object, "spec", "targets", "groups")
	for _, v := range append(all, groups...) {
		var one metav1.LabelSelector
		text, _ := v.(map[string]any)
		if group, is := text["selector"].(map[string]any); is {
			text = group
		}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(text, &one) != nil {
			continue // validation refuses it
		}
		if s, err := metav1.LabelSelectorAsSelector(&one); err == nil {
			selectors = append(selectors, s)
		}
	}
	return append(names, listed...), selectors
}

func sameSelectors(a, b []labels.Selector) bool {
	return slices.EqualFunc(a, b, func(a, b labels.Selector) bool { return a.String() == b.String() })
}
