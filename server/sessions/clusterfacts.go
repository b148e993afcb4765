package sessions

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// describe takes over what the site said of its cluster. What it does not say stays as it was: the
// cluster may not have answered yet.
func describe(st *v1alpha1.SyncTarget, f *tunnel.ClusterFacts) {
	if f == nil {
		return
	}
	out := &v1alpha1.SyncTargetCluster{
		Nodes: int32(f.Nodes), Ready: int32(f.Ready), OperatingSystem: f.OperatingSystem, Architecture: f.Architecture,
		Capacity: resources(f.Capacity), Allocatable: resources(f.Allocatable),
	}
	for _, c := range f.Classes {
		out.Classes = append(out.Classes, v1alpha1.SyncTargetClass{
			Kind: c.Kind, Name: c.Name, Default: c.Default, Provider: c.By,
			ReclaimPolicy: c.Reclaim, VolumeBindingMode: c.Binding, AllowVolumeExpansion: c.Expand,
			Value: c.Value, PreemptionPolicy: c.Preemption,
		})
	}
	st.Status.Cluster = out
}

// resources leaves out what is no quantity.
func resources(of map[string]string) corev1.ResourceList {
	var out corev1.ResourceList
	for name, text := range of {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[corev1.ResourceName(name)] = q
	}
	return out
}
