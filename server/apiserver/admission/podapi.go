package admission

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/apis/batch"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/placement"
)

// givePods decides which API the pods of a new Job or Pod of a user are given. It is written down,
// because neither can be changed when the rights of its account change.
func (m *Annotations) givePods(ctx context.Context, a admission.Attributes, obj metav1.Object) {
	spec, notes := podSpecOf(a.GetObject(), obj)
	if spec == nil || m.PodAPI == nil || request.FromCenter(ctx) || request.Space(ctx) == request.RootSpace {
		return
	}
	account := placement.PodAccount{
		Name:   cmp.Or(spec.ServiceAccountName, "default"),
		Mounts: spec.AutomountServiceAccountToken,
		Wish:   placement.PodAPIIn(notes),
	}
	switch m.PodAPI(request.Space(ctx), a.GetNamespace(), account) {
	case placement.SpaceAPI:
		metadata.Annotate(obj, v1alpha1.AnnotationSpaceAPI, account.Name)
	case placement.NoAPI:
		off := false
		spec.AutomountServiceAccountToken = &off
	case placement.NoWish, placement.TargetAPI:
	}
}

// warnWish warns a user whose word about the API of pods is none that is known.
func warnWish(ctx context.Context, o any, obj metav1.Object) {
	if request.FromCenter(ctx) {
		return
	}
	for _, notes := range []map[string]string{obj.GetAnnotations(), podNotes(o)} {
		word, said := notes[v1alpha1.AnnotationPodAPI]
		if said && placement.PodAPIIn(notes) == placement.NoWish {
			warning.AddWarning(ctx, "", fmt.Sprintf(
				"metadata.annotations[%s]: %.40q means nothing: write Space, Target or None", v1alpha1.AnnotationPodAPI, word))
		}
	}
}

// podNotes are the annotations of the pods that a workload makes.
func podNotes(o any) map[string]string {
	for _, one := range templatesOf(o) {
		if one.Pods {
			return one.Annotations
		}
	}
	return nil
}

// podSpecOf is the spec of the pods of a Job or a Pod, and the annotations that these have; nil for
// other kinds.
func podSpecOf(o any, obj metav1.Object) (*api.PodSpec, map[string]string) {
	switch o := o.(type) {
	case *api.Pod:
		return &o.Spec, obj.GetAnnotations()
	case *batch.Job:
		return &o.Spec.Template.Spec, o.Spec.Template.Annotations
	}
	return nil, nil
}
