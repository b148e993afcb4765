package metadata

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// ErrReported is returned to users who change an object that a target reported.
func ErrReported(o metav1.Object) error {
	target, _ := Annotation(o, v1alpha1.AnnotationReportedFrom)
	if placement, came := Annotation(o, v1alpha1.AnnotationUpsync); came {
		return fmt.Errorf("this object is of SyncTarget %q and comes from there by spec.upsync of Placement %q; "+
			"change it at the site, or take it out of spec.upsync", target, placement)
	}
	return fmt.Errorf("this object only shows what SyncTarget %q reported; change the object that owns it", target)
}

// Of returns the metadata of an object, nil where it has none.
func Of(o runtime.Object) metav1.Object {
	if o == nil {
		return nil
	}
	a, err := meta.Accessor(o)
	if err != nil {
		return nil // reviews, options and the like have no metadata
	}
	return a
}

// Annotation returns the value of an annotation. ok is false where o is nil or does not have it.
func Annotation(o metav1.Object, name string) (value string, ok bool) {
	if o == nil {
		return "", false
	}
	value, ok = o.GetAnnotations()[name]
	return value, ok
}

// Annotate sets an annotation.
func Annotate(o metav1.Object, name, value string) {
	m := o.GetAnnotations()
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	o.SetAnnotations(m)
}
