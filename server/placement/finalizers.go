package placement

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store"
)

// ClusterFinalizers are those that only the controllers of a cluster put on and take off. In a space
// nobody does: there they hold an object for as long as its target has it.
var ClusterFinalizers = []string{
	"kubernetes.io/pvc-protection",
	"kubernetes.io/pv-protection",
	"batch.kubernetes.io/job-tracking",
	"service.kubernetes.io/load-balancer-cleanup",
	"external-provisioner.volume.kubernetes.io/finalizer",
	"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
	"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
	"snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection",
	"resource.kubernetes.io/delete-protection",
}

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
			!slices.Contains(ClusterFinalizers, name)
	})
}
