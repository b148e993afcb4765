package kinds

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// QuietMarks has the generation of Deployments not rise when only annotations change that the center
// writes. Upstream raises it with any annotation; each move of a namespace would send them all again.
func QuietMarks(storages map[string]rest.Storage) {
	if store := storeOf(storages["deployments"]); store != nil {
		store.UpdateStrategy = quietMarks{store.UpdateStrategy}
	}
}

type quietMarks struct{ rest.RESTUpdateStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s quietMarks) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	now, isNow := obj.(metav1.Object)
	was, isWas := old.(metav1.Object)
	if !isNow || !isWas {
		s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
		return
	}
	annotations := now.GetAnnotations()
	now.SetAnnotations(withMarks(annotations, was.GetAnnotations()))
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
	now.SetAnnotations(annotations)
}

// withMarks returns annotations with what others say of those that the center writes.
func withMarks(annotations, of map[string]string) map[string]string {
	out := maps.Clone(annotations)
	for _, name := range v1alpha1.CenterAnnotations() {
		v, has := of[name]
		switch {
		case !has:
			delete(out, name)
		case out == nil:
			out = map[string]string{name: v}
		default:
			out[name] = v
		}
	}
	return out
}
