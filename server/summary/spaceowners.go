package summary

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// A mirror may have owners in the space that its target does not know: those that a controller gave
// it, and of a claim those that the template of its StatefulSet names, as operators write it. The
// mirror has them beside what the target reports, until it is gone.

// spaceOwners are the owners in the space that a mirror has, as references.
func spaceOwners(meta map[string]any) (out []any) {
	said := fields.String(meta, "annotations", v1alpha1.AnnotationSpaceOwners)
	if said == "" {
		return nil
	}
	uids := strings.Split(said, ",")
	for ref := range fields.Maps(meta, "ownerReferences") {
		if slices.Contains(uids, fields.String(ref, "uid")) {
			out = append(out, ref)
		}
	}
	return out
}

// addSpaceOwners adds them to the metadata of a mirror. A target that has an owner itself says how.
func (w *wanted) addSpaceOwners(meta map[string]any) {
	if len(w.owners) == 0 {
		return
	}
	refs := slices.Clone(fields.List(meta, "ownerReferences"))
	controlled := false
	var known, uids []string
	for ref := range fields.Maps(meta, "ownerReferences") {
		known = append(known, fields.String(ref, "uid"))
		controlled = controlled || ref["controller"] == true
	}
	for _, o := range w.owners {
		ref, ok := o.(map[string]any)
		uid := fields.String(ref, "uid")
		if !ok || uid == "" || slices.Contains(known, uid) || controlled && ref["controller"] == true {
			continue
		}
		refs, uids = append(refs, ref), append(uids, uid)
	}
	if len(uids) == 0 {
		return
	}
	meta["ownerReferences"] = refs
	fields.Map(meta, "annotations")[v1alpha1.AnnotationSpaceOwners] = strings.Join(uids, ",")
}

// templateOwners returns the owners that the template of a StatefulSet gives a claim.
func (s *Summary) templateOwners(ctx context.Context, k, set store.Key) ([]any, error) {
	if !isClaim(k) || set.Group != "apps" || set.Resource != "statefulsets" {
		return nil, nil
	}
	obj, err := s.cfg.API.Get(ctx, set, "apps/v1")
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the owner of %s: %w", k, err)
	}
	for t := range fields.Maps(obj, "spec", "volumeClaimTemplates") {
		if strings.HasPrefix(k.Name, fields.String(t, "metadata", "name")+"-"+set.Name+"-") {
			return fields.List(t, "metadata", "ownerReferences"), nil
		}
	}
	return nil, nil
}

// versionForOwners is the version of a mirror that may have owners in the space: a write of the
// mirror must not undo those that were given meanwhile. It is empty for kinds that nobody writes in
// the space.
func (s *Summary) versionForOwners(pk store.Key) string {
	switch pk.Resource {
	case "pods", "replicasets", "jobs", "persistentvolumeclaims", "resourceclaims":
	default:
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.shown[pk]; n.revision != 0 {
		return fmt.Sprint(n.revision)
	}
	return ""
}
