package gc

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Finalizers that the API server sets when an object is deleted with this policy, and that the
// collector takes off.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// id names an object for ever.
type id struct{ space, uid string }

// owner is one entry of metadata.ownerReferences.
type owner struct {
	apiVersion, kind, name, uid string
	blocks                      bool // the owner's foreground deletion waits for the dependent
}

// node is an object that owns or is owned. Its fields are guarded by the graph's lock.
type node struct {
	id         id
	key        store.Key // zero while the object is known from references only
	found      bool      // the key is its own: a write or a read of that key had its UID
	apiVersion string
	seen       bool // a write of it was seen, or the API was asked
	gone       bool // it does not exist, by the writes that were seen
	confirmed  bool // nor does it by the API: a UID never comes back
	deleting   bool // it has a deletion timestamp
	finalizers []string
	owners     []owner
	dependents map[*node]struct{}
	absent     map[store.Key]struct{} // where references look for it, and the API does not have it
}

func (n *node) has(finalizer string) bool {
	return n.deleting && slices.Contains(n.finalizers, finalizer)
}

// meta is what the collector reads of an object.
type meta struct {
	uid, version string
	deleting     bool
	mirror       bool
	finalizers   []string
	owners       []owner
}

func metaOf(obj map[string]any) meta {
	m := fields.Map(obj, "metadata")
	out := meta{
		uid:      fields.String(m, "uid"),
		version:  fields.String(m, "resourceVersion"),
		deleting: fields.String(m, "deletionTimestamp") != "",
	}
	annotations := fields.Map(m, "annotations")
	out.mirror = fields.String(annotations, v1alpha1.AnnotationReportedFrom) != "" &&
		fields.String(annotations, v1alpha1.AnnotationSpaceOwners) == ""
	finalizers := fields.List(m, "finalizers")
	for _, f := range finalizers {
		if s, ok := f.(string); ok {
			out.finalizers = append(out.finalizers, s)
		}
	}
	references := fields.List(m, "ownerReferences")
	for _, r := range references {
		ref, ok := r.(map[string]any)
		if !ok {
			continue
		}
		blocks, _ := ref["blockOwnerDeletion"].(bool)
		out.owners = append(
			out.owners,
			owner{
				fields.String(ref, "apiVersion"),
				fields.String(ref, "kind"),
				fields.String(ref, "name"),
				fields.String(ref, "uid"),
				blocks,
			},
		)
	}
	return out
}
