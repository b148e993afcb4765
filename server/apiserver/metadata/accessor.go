package metadata

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrReported is returned to users who change an object that a target reported.
func ErrReported(target string) error {
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
