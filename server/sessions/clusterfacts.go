package sessions

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/quantity"
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
	}
	for _, c := range f.Classes {
		out.Classes = append(out.Classes, v1alpha1.SyncTargetClass{
			Kind: c.Kind, Name: c.Name, Default: c.Default, Provider: c.By,
			ReclaimPolicy: c.Reclaim, VolumeBindingMode: c.Binding, AllowVolumeExpansion: c.Expand,
			Value: c.Value, PreemptionPolicy: c.Preemption,
		})
	}
	is := &st.Status
	is.Cluster = out
	is.Capacity, is.Allocatable = resources(f.Capacity), resources(f.Allocatable)
	is.Allocated, is.AllocatedPlaced = resources(f.Allocated), resources(f.Placed)
	unread(st, f)
}

// unread says that a site may not read what its capacity is made of.
func unread(st *v1alpha1.SyncTarget, f *tunnel.ClusterFacts) {
	const advice = ". To let it read them: skerry agent rbac, and apply what that prints to the cluster"
	kinds := strings.Join(f.Unread, " and ")
	switch {
	case len(f.Unread) == 0:
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionCapacityKnown)
	case f.Quota:
		set(st, v1alpha1.ConditionCapacityKnown, metav1.ConditionFalse, "OfQuotas", "the agent may not read "+kinds+
			" of its cluster: capacity and allocatable are the sums of the ResourceQuotas of the spaces' namespaces"+advice)
	default:
		set(st, v1alpha1.ConditionCapacityKnown, metav1.ConditionFalse, "NotReadable", "the agent may not read "+kinds+
			" of its cluster, and its namespaces have no ResourceQuota: what is missing in the status is not known"+advice)
	}
}

// resources leaves out what is no quantity.
func resources(of map[string]string) corev1.ResourceList {
	var out corev1.ResourceList
	for name, text := range of {
		q, err := quantity.Parse(text)
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
