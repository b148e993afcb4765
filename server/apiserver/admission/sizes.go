package admission

import (
	"context"
	"fmt"
	"reflect"

	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Sizes is the admission plugin that refuses what could not be sent to a site: an object whose body
// would be larger than store.MaxObjectBytes. An object that is larger already may change, but not
// grow.
type Sizes struct{}

// Handles implements admission.Interface.
func (Sizes) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (Sizes) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	r := a.GetResource()
	if request.FromCenter(ctx) || a.GetSubresource() != "" || request.Space(ctx) == request.RootSpace ||
		placement.ClassOf(r.Group, r.Resource) == placement.Never || !maybeLarge(a.GetObject()) {
		return nil
	}
	size, err := sentSize(a, a.GetObject())
	if err != nil || size <= store.MaxObjectBytes {
		return err
	}
	if old := a.GetOldObject(); a.GetOperation() == admission.Update && old != nil {
		if was, err := sentSize(a, old); err != nil || size <= was {
			return err
		}
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s %q would be sent to sites as %d bytes of JSON; "+
		"the limit is %d bytes: split it into several objects", r.Resource, a.GetName(), size, store.MaxObjectBytes))
}

// sentSize is the size of the body that a target would be sent.
func sentSize(a admission.Attributes, o runtime.Object) (int, error) {
	content, err := versioned(a, o)
	if err != nil {
		return 0, fmt.Errorf("measure %s %q: %w", a.GetResource().Resource, a.GetName(), err)
	}
	body, err := customize.Render(content, customize.Origin{})
	return len(body), err
}

// versioned is an object as the request's version of the API shows it.
func versioned(a admission.Attributes, o runtime.Object) (map[string]any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	scheme := legacyscheme.Scheme
	if a.GetKind().Group == registrykey.CRDs.Group {
		scheme = apiextensionsapiserver.Scheme
	}
	as, err := scheme.ConvertToVersion(o, a.GetKind().GroupVersion())
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(as)
}

// escaped is the most bytes that one byte of text becomes in JSON: a control character is \u0001.
const escaped = 6

// maybeLarge reports whether an object holds so much text that measuring it exactly is worth while.
func maybeLarge(o runtime.Object) bool {
	return textIn(reflect.ValueOf(o)) > store.MaxObjectBytes/escaped
}

// textIn counts the bytes of all strings below a value, and some for each element of a list or map.
func textIn(v reflect.Value) int {
	const element = 8
	n := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return textIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += textIn(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		for i := range v.Len() {
			n += element + textIn(v.Index(i))
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			n += element + textIn(i.Key()) + textIn(i.Value())
		}
	}
	return n
}
