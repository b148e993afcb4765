package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// PlaceFunc tells where a new object goes: SyncTarget names joined by commas, and the value of
// skerry.dev/unit. They are empty when that is not decided yet, or if the kind is never placed.
// Key.Name is empty if the name will be generated. It is called while the object is created, so it
// must be quick and must not call the API.
type PlaceFunc func(ctx context.Context, space string, key store.Key, obj metav1.Object) (targets, unit string)

// Annotations is the admission plugin of the annotations that only the center writes: it sets
// skerry.dev/targets and skerry.dev/unit on new objects, whatever they bring along: what another
// center has written means nothing here. It keeps them on other writes, also if they remove them.
// What a whole object brings of such annotations (PUT, server-side apply) is left out, and what any
// write brings of them in templates. Other patches that change them are refused, and so are users'
// writes to the mirror of a target's object.
type Annotations struct {
	Place PlaceFunc
	// PodAPI says which API the pods of an account are given; nil leaves them as they are.
	PodAPI func(space, namespace string, a placement.PodAccount) placement.PodAPI
	// PassesOn says that some writes of mirrored Pods are carried out at their sites.
	PassesOn bool
}

// Handles implements admission.Interface.
func (*Annotations) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (m *Annotations) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	obj, old := metadata.Of(a.GetObject()), metadata.Of(a.GetOldObject())
	switch {
	case obj == nil, m.PassesOn && passedOn(ctx, a):
		return nil
	case a.GetOperation() == admission.Create && a.GetSubresource() == "":
		if !request.FromCenter(ctx) {
			unallocate(a.GetObject(), nil)
		}
		if err := m.guard(ctx, a, obj, nil); err != nil {
			return err
		}
		m.decide(ctx, a, obj)
		m.givePods(ctx, a, obj)
		warnWish(ctx, a.GetObject(), obj)
	case a.GetOperation() == admission.Update && old != nil:
		if !request.FromCenter(ctx) && a.GetSubresource() == "" {
			unallocate(a.GetObject(), old)
		}
		if err := m.guard(ctx, a, obj, old); err != nil {
			return err
		}
		warnWish(ctx, a.GetObject(), obj)
	}
	return nil
}

// Validate implements admission.ValidationInterface: deletions carry the object only here.
func (m *Annotations) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	old := metadata.Of(a.GetOldObject())
	if a.GetOperation() != admission.Delete || old == nil || request.FromCenter(ctx) || m.PassesOn && passedOn(ctx, a) {
		return nil
	}
	return refuseMirror(a, old)
}

func (m *Annotations) guard(ctx context.Context, a admission.Attributes, obj, old metav1.Object) error {
	if request.FromCenter(ctx) {
		return nil
	}
	if old != nil {
		if err := refuseMirror(a, old); err != nil {
			return err
		}
	}
	if old != nil || isAlone(a, obj) {
		forgetCopied(obj, old)
	}
	for _, name := range append(v1alpha1.CenterAnnotations(), v1alpha1.AnnotationReportedFrom) {
		was, had := metadata.Annotation(old, name)
		is, has := metadata.Annotation(obj, name)
		switch {
		case has == had && is == was:
		case !has && name == v1alpha1.AnnotationDependents && ofNamespace(a) && !whole(ctx):
			// A user ends what lives on there.
		case !has && name == v1alpha1.AnnotationOpenUntil && mayBeDoor(a) && !whole(ctx):
			// A user closes what stays open there.
		case !has:
			// Whoever writes an object or a patch from a file that lacks the annotation does not mean
			// to remove it.
			metadata.Annotate(obj, name, was)
		case (old == nil || whole(ctx) || isAllocated(name)) && name != v1alpha1.AnnotationReportedFrom:
			// Operators copy the annotations of a custom resource to the objects that they make of
			// it. People copy manifests from elsewhere.
			leaveOut(ctx, obj, "", name, was, had)
		default:
			return admission.NewForbidden(a, fmt.Errorf("metadata.annotations[%s]: only the center writes this annotation; %s",
				name, instead(a, name)))
		}
	}
	leaveOutOfTemplates(ctx, a.GetObject(), a.GetOldObject())
	return nil
}

// instead says what to do in place of writing an annotation of the center.
func instead(a admission.Attributes, name string) string {
	switch {
	case name != v1alpha1.AnnotationReportedFrom:
		return fmt.Sprintf("to choose a target set the label %s, or use a Placement", v1alpha1.LabelTarget)
	case a.GetResource().GroupResource() == api.Resource("pods"):
		return fmt.Sprintf("a copy of a Pod that a target has reported must not have the labels %s, %s and %s, by which its "+
			"workload would delete it", taken[0], taken[1], taken[2])
	}
	return "a copy of what a target has reported is made without it"
}

// mayBeDoor reports whether callers may come in by an object.
func mayBeDoor(a admission.Attributes) bool {
	kind := a.GetResource().GroupResource()
	return placement.GoesAlong(kind.Group, kind.Resource)
}

func ofNamespace(a admission.Attributes) bool {
	return a.GetResource().GroupResource() == api.Resource("namespaces")
}

// leaveOut restores an annotation of the object at a path to what it was, and warns the user. The path
// ends in a dot, or is empty.
func leaveOut(ctx context.Context, obj metav1.Object, path, name, was string, had bool) {
	notes := obj.GetAnnotations()
	if delete(notes, name); had {
		notes[name] = was
	}
	obj.SetAnnotations(notes)
	warning.AddWarning(
		ctx,
		"",
		fmt.Sprintf(
			"%smetadata.annotations[%s]: only the center writes this annotation, so it was left out; to choose a target "+
				"set the label %s, or use a Placement",
			path,
			name,
			v1alpha1.LabelTarget,
		),
	)
}

// forgetCopied removes annotations that were copied from a mirror, and restores the object's own
// ones that they replaced: `kubectl rollout undo` gives a Deployment the annotations of the
// ReplicaSet that it goes back to, and `kubectl debug --copy-to` a Pod those of the one that it copies.
func forgetCopied(obj, old metav1.Object) {
	_, has := metadata.Annotation(obj, v1alpha1.AnnotationReportedFrom)
	if _, had := metadata.Annotation(old, v1alpha1.AnnotationReportedFrom); !has || had {
		return
	}
	notes := obj.GetAnnotations()
	for name := range notes {
		if strings.HasPrefix(name, v1alpha1.AnnotationReported) {
			delete(notes, name)
		}
	}
	for _, name := range v1alpha1.CenterAnnotations() {
		if was, had := metadata.Annotation(old, name); had {
			notes[name] = was
		}
	}
	obj.SetAnnotations(notes)
}

// taken are the labels by which workloads take Pods for their own.
var taken = [...]string{
	appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey, batchv1.ControllerUidLabel,
}

// isAlone reports whether an object is a Pod that no workload would take for its own. A copy that one takes
// would be made anew whenever the workload deletes it.
func isAlone(a admission.Attributes, obj metav1.Object) bool {
	return a.GetResource().GroupResource() == api.Resource("pods") && metav1.GetControllerOf(obj) == nil &&
		!slices.ContainsFunc(taken[:], func(label string) bool { return obj.GetLabels()[label] != "" })
}

// decide sets where a new object goes, and what it is with, in the same write if that is already known.
func (m *Annotations) decide(ctx context.Context, a admission.Attributes, obj metav1.Object) {
	notes := obj.GetAnnotations()
	delete(notes, v1alpha1.AnnotationUnit)
	obj.SetAnnotations(notes)
	key := placedKey(ctx, a, obj)
	if m.Place == nil || key.Space == request.OwnSpace {
		return
	}
	targets, unit := m.Place(ctx, key.Space, key, obj)
	if _, has := metadata.Annotation(obj, v1alpha1.AnnotationTargets); targets != "" && !has {
		metadata.Annotate(obj, v1alpha1.AnnotationTargets, targets)
	}
	if unit != "" {
		metadata.Annotate(obj, v1alpha1.AnnotationUnit, unit)
	}
}

// placedKey is the key of the object that a request is about. Its name is empty when it will be
// generated.
func placedKey(ctx context.Context, a admission.Attributes, obj metav1.Object) store.Key {
	name := a.GetName()
	if name == "" {
		name = obj.GetName()
	}
	r := a.GetResource()
	key := store.Key{
		Space:     request.Space(ctx),
		Group:     r.Group,
		Resource:  r.Resource,
		Namespace: a.GetNamespace(),
		Name:      name,
	}
	if key.Group == "" && key.Resource == "namespaces" {
		key.Namespace = "" // attributes of a Namespace name itself as its namespace
	}
	return key
}

func refuseMirror(a admission.Attributes, old metav1.Object) error {
	if _, has := metadata.Annotation(old, v1alpha1.AnnotationReportedFrom); !has {
		return nil
	}
	return admission.NewForbidden(a, metadata.ErrReported(old))
}

// whole reports whether the request carries an object as somebody has it (PUT, server-side apply),
// not a patch of some fields.
func whole(ctx context.Context) bool {
	info, ok := apirequest.RequestInfoFrom(ctx)
	return ok && info.Verb == "update" || request.IsApply(ctx)
}
