package placement

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store"
)

// clusterFinalizers are the finalizers that only the controllers of a cluster take off, by kind. Somebody
// has copied them into the space with an object. A target's cluster puts its own on its copy, and takes
// them off there; so in the space they mean nothing once no target has a copy.
var clusterFinalizers = map[string][]string{
	"/persistentvolumeclaims": {"kubernetes.io/pvc-protection",
		"snapshot.storage.kubernetes.io/pvc-as-source-protection"},
	"/persistentvolumes": {"kubernetes.io/pv-protection", "kubernetes.io/pv-controller",
		"external-provisioner.volume.kubernetes.io/finalizer"},
	"/services":                              {"service.kubernetes.io/load-balancer-cleanup"},
	"/pods":                                  {"batch.kubernetes.io/job-tracking"},
	"resource.k8s.io/resourceclaims":         {"resource.kubernetes.io/delete-protection"},
	"storage.k8s.io/volumeattributesclasses": {"kubernetes.io/vac-protection"},
	"snapshot.storage.k8s.io/volumesnapshots": {
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"},
}

// ClusterFinalizers are the finalizers of a kind that only the controllers of a cluster take off.
func ClusterFinalizers(k store.Key) []string { return clusterFinalizers[k.Group+"/"+k.Resource] }

// Held reports whether finalizers keep an object, whose deletion has begun, on its targets, as they
// would keep it on a cluster. A Namespace and a Pod are never held: what is in the one goes, and the
// processes of the other end, whatever keeps the object. Nothing is held whose dependents go, or stay,
// before it.
func Held(k store.Key, finalizers []any) bool {
	if k.Group == "" && (k.Resource == "namespaces" || k.Resource == "pods") ||
		slices.Contains(finalizers, any(metav1.FinalizerOrphanDependents)) ||
		slices.Contains(finalizers, any(metav1.FinalizerDeleteDependents)) && OwnsPods(k) {
		return false
	}
	return slices.ContainsFunc(finalizers, func(f any) bool {
		name, ok := f.(string)
		return ok && name != metav1.FinalizerDeleteDependents && !strings.HasPrefix(name, "skerry.dev/") &&
			!slices.Contains(ClusterFinalizers(k), name)
	})
}
