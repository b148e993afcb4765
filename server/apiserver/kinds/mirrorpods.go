package kinds

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"skerry.dev/skerry/server/apiserver/metadata"
)

// MirrorPods lets the center write Pods that a target reported: with their status, in one write,
// and without the rules about what may change in a Pod, since they have held at the target. It also
// makes every deletion immediate: no kubelet will confirm one.
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
func (podDelete) CheckGracefulDelete(_ context.Context, _ runtime.Object, options *metav1.DeleteOptions) bool {
	now := int64(0)
	options.GracePeriodSeconds = &now
	return true
}
