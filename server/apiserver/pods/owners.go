package pods

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
)

// What was born at a site may belong to an object of the space, as operators have it: a claim to the
// custom resource whose deletion ends the data, Pods to it while their StatefulSet is made anew. The
// site does not know that object, and its garbage collector would delete what it owns at once. So
// these owners are the mirror's alone, and the space's garbage collector has the site delete the
// object when all of its owners are gone.

// maxOwners bounds the owners of a mirror. No quota counts mirrors.
const maxOwners = 16

// siteOwners are the owners that an object has at its site.
func siteOwners(o metav1.Object) []metav1.OwnerReference {
	of := strings.Split(o.GetAnnotations()[v1alpha1.AnnotationSpaceOwners], ",")
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(ref metav1.OwnerReference) bool {
		return slices.Contains(of, string(ref.UID))
	})
}

// newOwners judges the owners that a request wants. Those that the site says stay.
func newOwners(now, was metav1.Object, at *field.Path) field.ErrorList {
	wanted := now.GetOwnerReferences()
	if equality.Semantic.DeepEqual(wanted, was.GetOwnerReferences()) {
		return nil
	}
	if len(wanted) > maxOwners {
		return field.ErrorList{field.TooMany(at, len(wanted), maxOwners)}
	}
	for _, ref := range siteOwners(was) {
		if !slices.ContainsFunc(wanted, func(w metav1.OwnerReference) bool {
			return equality.Semantic.DeepEqual(w, ref)
		}) {
			return field.ErrorList{field.Forbidden(at, ref.Kind+" "+ref.Name+
				" owns it at its site; owners may be added to that, and be taken off again")}
		}
	}
	return nil
}

// setOwners gives a mirror the owners that a request wants, and marks those that its site does not
// have. shown is the mirror as the request saw it.
func setOwners(out, shown metav1.Object, wanted []metav1.OwnerReference) {
	at := siteOwners(shown)
	var own []string
	for _, ref := range wanted {
		if !slices.ContainsFunc(at, func(o metav1.OwnerReference) bool { return o.UID == ref.UID }) {
			own = append(own, string(ref.UID))
		}
	}
	out.SetOwnerReferences(wanted)
	notes := out.GetAnnotations()
	if delete(notes, v1alpha1.AnnotationSpaceOwners); len(own) > 0 {
		metadata.Annotate(out, v1alpha1.AnnotationSpaceOwners, strings.Join(own, ","))
	}
}

// sameOwn reports whether two objects have the same finalizers and owners, which are the mirror's.
func sameOwn(a, b runtime.Object) bool {
	x, y := metadata.Of(a), metadata.Of(b)
	return slices.Equal(x.GetFinalizers(), y.GetFinalizers()) &&
		equality.Semantic.DeepEqual(x.GetOwnerReferences(), y.GetOwnerReferences())
}
