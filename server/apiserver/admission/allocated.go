package admission

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
)

// unallocate removes from a Service or a claim that a user writes the values that a target chose,
// as its annotation said when the user read it. They are no wish of the user: he may create the
// object again from what he read, or the target may have chosen other values since. The storage
// restores the values that were there before.
func unallocate(obj runtime.Object, old metav1.Object) {
	o := metadata.Of(obj)
	if o == nil || o.GetAnnotations()[v1alpha1.AnnotationAllocated] == "" {
		return
	}
	chosen := v1alpha1.ReadAllocated(o.GetAnnotations())
	if old != nil && chosen.String() == v1alpha1.ReadAllocated(old.GetAnnotations()).String() {
		return
	}
	switch o := obj.(type) {
	case *api.Service:
		if o.Spec.ClusterIP == chosen.ClusterIP {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = "", nil
		}
		if int64(o.Spec.HealthCheckNodePort) == chosen.HealthCheckNodePort {
			o.Spec.HealthCheckNodePort = 0
		}
		if p := o.Spec.IPFamilyPolicy; p != nil && string(*p) == chosen.IPFamilyPolicy {
			o.Spec.IPFamilyPolicy = nil
		}
		if slices.EqualFunc(
			o.Spec.IPFamilies,
			chosen.IPFamilies,
			func(f api.IPFamily, s string) bool { return string(f) == s },
		) {
			o.Spec.IPFamilies = nil
		}
		for i := range o.Spec.Ports {
			if p := &o.Spec.Ports[i]; chosen.HasNodePort(int64(p.NodePort)) {
				p.NodePort = 0
			}
		}
	case *api.PersistentVolumeClaim:
		if o.Spec.VolumeName == chosen.VolumeName {
			o.Spec.VolumeName = ""
		}
		if class := o.Spec.StorageClassName; class != nil && *class == chosen.StorageClass {
			o.Spec.StorageClassName = nil
		}
	}
}

// isAllocated reports whether an annotation belongs to values that users read and send back.
func isAllocated(name string) bool {
	return name == v1alpha1.AnnotationAllocated
}
