// Package spaceapitest has the parts that fakes of the spaces' API are made of.
//
// A fake keeps objects as decoded JSON by store.Key. It hands out each by [Clone], applies a merge
// patch by [Merge], and answers with the errors of the real API, such as [NotFound]:
//
//	func (f *fake) Get(_ context.Context, k store.Key, _ string) (map[string]any, error) {
//		if o, ok := f.objects[k]; ok {
//			return spaceapitest.Clone(o), nil
//		}
//		return nil, spaceapitest.NotFound(k)
//	}
//
// [Run] starts a controller, and [Eventually] waits for what it does with them, in simulated time.
package spaceapitest

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// Clone returns a deep copy with numbers as an API sends them; nil for nil. It panics on an object
// that is no JSON.
func Clone(obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	b, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// Merge changes obj by a JSON merge patch (RFC 7386), whose parts become parts of obj.
func Merge(obj, patch map[string]any) {
	for field, v := range patch {
		inner, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(obj, field)
		case isMap:
			old, wasMap := obj[field].(map[string]any)
			if !wasMap {
				old = map[string]any{}
				obj[field] = old
			}
			Merge(old, inner)
		default:
			obj[field] = v
		}
	}
}

// NotFound is the error for an object that does not exist.
func NotFound(k store.Key) error { return apierrors.NewNotFound(resource(k), k.Name) }

// AlreadyExists is the error for an object that is to be created and exists.
func AlreadyExists(k store.Key) error { return apierrors.NewAlreadyExists(resource(k), k.Name) }

// Conflict is the error for a write of another version or another UID than there is.
func Conflict(k store.Key) error {
	return apierrors.NewConflict(resource(k), k.Name, errors.New("the object has been modified"))
}

func resource(k store.Key) schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Eventually waits until ok returns true: for what a controller does in its own time. It looks whenever
// all goroutines rest, so it panics outside a bubble of testing/synctest, where nothing says when they do.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	storetest.Eventually(t, what, func() bool { synctest.Wait(); return ok() })
}
