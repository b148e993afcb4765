package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// MirrorPods lets the center write Pods that a target reported: with their status, in one write,
// and without the rules about what may change in a Pod, since they have held at the target. A Pod
// that is at a target is deleted with its grace period: the site confirms its end, as a kubelet
// does. Every other deletion is immediate.
func MirrorPods(pods podstore.PodStorage) {
	s := pods.Pod.Store
	s.CreateStrategy = podCreate{s.CreateStrategy}
	s.UpdateStrategy = podUpdate{s.UpdateStrategy}
	s.DeleteStrategy = podDelete{s.DeleteStrategy}
}

// isMirror reports whether this write is the center's own, of a Pod that a target reported.
func isMirror(ctx context.Context, pod *api.Pod) bool {
	return metadata.IsReported(ctx, pod)
}

type podCreate struct{ rest.RESTCreateStrategy }

func (s podCreate) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	pod := obj.(*api.Pod)
	status := pod.Status
	s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
	if isMirror(ctx, pod) {
		pod.Status = status
		pod.Generation = max(1, status.ObservedGeneration)
		bornAt(pod)
	}
}

func (s podCreate) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if isMirror(ctx, obj.(*api.Pod)) {
		return nil
	}
	return s.RESTCreateStrategy.Validate(ctx, obj)
}

type podUpdate struct{ rest.RESTUpdateStrategy }

func (s podUpdate) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	pod := obj.(*api.Pod)
	status := pod.Status
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
	if isMirror(ctx, pod) {
		pod.Status = status
		// That a Pod got its node is no change of what is wanted, but it is one of the mirror's spec:
		// tools that compare generations would wait for ever.
		pod.Generation = max(old.(*api.Pod).Generation, status.ObservedGeneration)
		forgetBirth(pod)
	}
}

func (s podUpdate) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if isMirror(ctx, obj.(*api.Pod)) {
		return nil
	}
	return s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
}

type podDelete struct{ rest.RESTDeleteStrategy }

// CheckGracefulDelete implements rest.RESTGracefulDeleteStrategy.
func (podDelete) CheckGracefulDelete(
	ctx context.Context,
	obj runtime.Object,
	options *metav1.DeleteOptions,
) bool {
	grace := gracePeriod(ctx, obj.(*api.Pod), options.GracePeriodSeconds)
	options.GracePeriodSeconds = &grace
	return true
}

// gracePeriod is how long a Pod may take to end, in seconds. 0 is a Pod that nobody will confirm the
// end of.
func gracePeriod(ctx context.Context, pod *api.Pod, asked *int64) int64 {
	_, mirrored := pod.Annotations[v1alpha1.AnnotationReportedFrom]
	finished := pod.Status.Phase == api.PodSucceeded || pod.Status.Phase == api.PodFailed
	switch {
	case mirrored && request.FromCenter(ctx) && asked != nil:
		return *asked
	case mirrored, finished, pod.Annotations[v1alpha1.AnnotationTargets] == "":
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 0
}
