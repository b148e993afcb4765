package delivery

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// reading is what the catalog keeps of an object's content.
type reading struct {
	uid        string
	generation int64
	labels     labelText
	note       string
	move       string
	undecided  bool
	leaving    bool
	dependents bool
	finished   bool
	sync       string
	excluded   bool
	names      []store.Key
	replicas   int64
	templates  bool
	account    placement.PodAccount
	podAPISaid string
}

func readObject(k store.Key, obj map[string]any) reading {
	meta := fields.Map(obj, "metadata")
	r := reading{
		uid:        str(meta, "uid"),
		generation: customize.Number(meta["generation"]),
		labels:     labelsOf(fields.Map(meta, "labels")),
		note:       str(meta, "annotations", v1alpha1.AnnotationTargets),
		move:       str(meta, "annotations", v1alpha1.AnnotationMove),
		undecided:  str(meta, "annotations", v1alpha1.AnnotationUndecided) != "",
		leaving:    str(meta, "deletionTimestamp") != "",
		sync:       str(meta, "annotations", v1alpha1.AnnotationSync),
		finished:   placement.Finished(k, obj),
		excluded:   placement.Excluded(k, obj),
		names:      placement.References(k, obj),
		replicas:   wantedReplicas(k, obj),
		account:    placement.PodAccountOf(k, obj),
		podAPISaid: str(meta, "annotations", v1alpha1.AnnotationPodAPIUsed),
	}
	r.account.Name = strings.Clone(r.account.Name)
	finalizers := fields.List(meta, "finalizers")
	r.dependents = r.leaving && slices.Contains(finalizers, any(metav1.FinalizerOrphanDependents))
	r.templates = k.Resource == "statefulsets" && k.Group == "apps" && placement.HasClaimTemplates(obj)
	return r
}

func wantedReplicas(k store.Key, obj map[string]any) int64 {
	switch k.Group + "/" + k.Resource {
	case "apps/deployments", "apps/statefulsets", "apps/replicasets", "/replicationcontrollers":
		if v, ok := fields.Map(obj, "spec")["replicas"]; ok {
			return customize.Number(v)
		}
		return 1
	}
	return 0
}

// str returns a text, copied: the object that it comes from is large and should not stay in memory
// for it.
func str(m map[string]any, path ...string) string {
	return strings.Clone(fields.String(m, path...))
}
