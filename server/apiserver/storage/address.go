package storage

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/customize"
)

// markAddress writes the mark on a Service, as it was stored by a center that did not: what follows
// the store does not see who set its fields.
func markAddress(s *corev1.Service) {
	if ip := s.Spec.ClusterIP; ip == "" || ip == corev1.ClusterIPNone ||
		s.Annotations[v1alpha1.AnnotationAllocated] != "" {
		return
	}
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return // it cannot be read, and so is not sent either
	}
	if chosen := customize.Chosen(whole); chosen.ClusterIP != "" {
		metadata.Annotate(s, v1alpha1.AnnotationAllocated, chosen.String())
		delete(s.Annotations, v1alpha1.AnnotationNodePorts)
	}
}
