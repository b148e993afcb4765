package desired

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// reading is what the catalog keeps of an object's content.
type reading struct {
	uid        string
	generation int64
	labels     catalog.LabelText
	note       string
	stamp      string
	evict      string
	deleting   bool
	leaving    bool
	dependents bool
	finished   bool
	ends       bool
	paused     bool
	sync       string
	excluded   bool
	stays      bool
	fromParent bool
	duplicates bool
	names      []store.Key
	replicas   int64
	requests   placement.Requests
	templates  bool
	security   placement.SecurityNeed
	account    placement.PodAccount
	podAPISaid string
	hook       *catalog.HookMark
	mover      *catalog.Mover
	conditions string
	follows    *placement.Follower
	runs       bool
	pods       catalog.LabelText
	reach      placement.Reach
	hosts      *placement.Hosts
	oneJob     bool
	openUntil  string
	imports    catalog.Import
	affinity   time.Duration
	uncommon   placement.Uncommon
}

// securityNeed is what the Pods of an object need, which is known of one whose spec is as it was.
func securityNeed(o *catalog.Object, w store.Write, r reading) placement.SecurityNeed {
	if o.Present && o.Work != nil && r.generation != 0 && o.Generation == r.generation {
		return o.Work.Security
	}
	return placement.SecurityNeedOf(w.Key, w.Object)
}

func readObject(k store.Key, obj map[string]any) reading {
	meta := fields.Map(obj, "metadata")
	r := reading{
		uid:        fields.Clone(meta, "uid"),
		generation: customize.Number(meta["generation"]),
		labels:     catalog.LabelsOf(fields.Map(meta, "labels")),
		note:       fields.Clone(meta, "annotations", v1alpha1.AnnotationTargets),
		stamp:      fields.Clone(meta, "annotations", v1alpha1.AnnotationUnit),
		evict:      fields.Clone(meta, "annotations", v1alpha1.AnnotationEvict),
		deleting:   fields.Clone(meta, "deletionTimestamp") != "",
		sync:       fields.Clone(meta, "annotations", v1alpha1.AnnotationSync),
		finished:   placement.Finished(k, obj),
		ends:       placement.Ends(k, obj),
		paused:     placement.Paused(k, obj),
		oneJob:     placement.StartsOneAtATime(k, obj),
		excluded:   placement.Excluded(k, obj),
		stays:      placement.StaysInSpace(k, obj),
		fromParent: fields.Clone(meta, "annotations", v1alpha1.AnnotationOriginUID) != "",
		duplicates: fields.Clone(meta, "annotations", v1alpha1.AnnotationReplicas) == string(v1alpha1.ReplicasDuplicated),
		names:      placement.References(k, obj),
		replicas:   catalog.WantedReplicas(k, obj),
		requests:   placement.RequestsOf(k, obj),
		account:    placement.PodAccountOf(k, obj),
		podAPISaid: fields.Clone(meta, "annotations", v1alpha1.AnnotationPodAPIUsed),
		hook:       catalog.ReadHook(k, obj),
		mover:      catalog.ReadMover(k, obj),
		follows:    placement.FollowerOf(k, obj),
		openUntil:  fields.Clone(meta, "annotations", v1alpha1.AnnotationOpenUntil),
		reach:      placement.ReachOf(k, obj),
		imports:    catalog.ImportOf(meta),
		affinity:   placement.SessionAffinityOf(k, obj),
		uncommon:   placement.UncommonVolumes(k, obj),
	}
	r.hosts = placement.HostsOf(k, obj, r.replicas)
	if k.Class() == store.ClassCRD {
		r.conditions = fields.String(meta, "annotations", v1alpha1.AnnotationConditions)
	}
	pods, runs := placement.PodLabels(k, obj)
	r.pods, r.runs = catalog.LabelsOf(pods), runs
	r.account.Name = strings.Clone(r.account.Name)
	finalizers := fields.List(meta, "finalizers")
	r.leaving = r.deleting && !placement.Held(k, finalizers)
	r.dependents = r.leaving && slices.Contains(finalizers, any(metav1.FinalizerOrphanDependents))
	r.templates = k.Resource == "statefulsets" && k.Group == "apps" && placement.HasClaimTemplates(obj)
	return r
}
