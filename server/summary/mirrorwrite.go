package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// removeMirror deletes a mirrored Pod, only if it is still the one that is known. Where it has
// finalizers, it stays until they are taken off, as it was when it went.
func (s *Summary) removeMirror(ctx context.Context, k store.Key, name string, o mirror) error {
	pk := k
	pk.Name = name
	err := s.cfg.API.Delete(ctx, pk, mirroredVersion(pk), o.uid)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete mirrored object %s: %w", pk, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.mirrors[k]; m != nil && m.objects[name].uid == o.uid && !m.objects[name].held {
		delete(m.objects, name)
		s.departed.add(pk, m.owner, o.target)
		s.wakeBelowLocked(k)
		delete(s.names, pk)
		delete(s.shown, pk)
	}
	return nil
}

// putMirror creates a Pod with its status in one write, or brings the status of an existing one up
// to date.
func (s *Summary) putMirror(ctx context.Context, k store.Key, name string, w wanted, have map[string]mirror) error {
	pk := k
	pk.Name = name
	defer s.begin(pk)()
	o, ok := have[name]
	if ok && o.hash == w.hash && (o.target == w.target || joined(k)) {
		return s.writeMirrorStatus(ctx, pk, o.uid, w.status)
	}
	err := s.complete(ctx, k, &w)
	if err != nil {
		if ok { // what the space has of it stays, and its status is known
			err = errors.Join(err, s.writeMirrorStatus(ctx, pk, o.uid, w.status))
		}
		return err
	}
	if ok {
		return s.changeMirror(ctx, k, pk, w, o)
	}
	if w.owners, err = s.templateOwners(ctx, k, w.owner); err != nil {
		return err
	}
	obj, err := s.cfg.API.Create(ctx, pk, mirroredVersion(pk), mirrorFor(k, name, w))
	if apierrors.IsAlreadyExists(err) {
		return s.adopt(ctx, k, pk)
	}
	if namespaceGoes(err) {
		return nil
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		s.cfg.Log.Warn("space does not take a reported object", "key", pk.String(), "target", w.target, "err", err)
		return nil // it will be refused again
	}
	if err != nil {
		return fmt.Errorf("create mirrored object %s: %w", pk, err)
	}
	s.madeMirror(k, pk, w, obj)
	return nil
}

// namespaceGoes reports whether nothing was created because the namespace is gone or is being
// deleted: what sites still report of it is no news.
func namespaceGoes(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// adopt finds out whether an existing Pod is a mirror from before, or one that the space's users
// made.
func (s *Summary) adopt(ctx context.Context, k, pk store.Key) error {
	obj, err := s.cfg.API.Get(ctx, pk, mirroredVersion(pk))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read pod %s: %w", pk, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj != nil && !s.observeMirrorLocked(store.Write{Key: pk, Revision: revisionOf(obj), Object: obj}) {
		if s.mirrorOfLocked(k).taken = pk.Name == k.Name; !s.mirrorOfLocked(k).taken {
			return nil // a name that nobody but us would give, and somebody did
		}
	}
	s.queue.Add(k)
	return nil
}

// mirroredFields are what a mirror shows beside its metadata and its status.
func mirroredFields() []string {
	return []string{"spec", "data", "revision", "addressType", "endpoints", "ports", "subsets"}
}

// writeMirrorStatus writes the status of a mirror. Of Pods it is a subresource; of others it is
// written with the whole, by the rules for mirrors.
func (s *Summary) writeMirrorStatus(ctx context.Context, pk store.Key, uid string, status json.RawMessage) error {
	subresource := ""
	if pk.Resource == "pods" {
		subresource = "status"
	}
	return s.writeStatus(
		ctx,
		placement.Located{Key: pk, APIVersion: mirroredVersion(pk), UID: uid},
		subresource,
		status,
		nil,
	)
}

// changeMirror brings everything of a mirrored Pod up to date in one write: that it was given a
// node, its labels, its status.
func (s *Summary) changeMirror(ctx context.Context, k, pk store.Key, w wanted, o mirror) error {
	w.owners = o.owners
	mirror := mirrorFor(k, pk.Name, w)
	meta := fields.Map(mirror, "metadata")
	ops := []any{map[string]any{"op": "test", "path": "/metadata/uid", "value": o.uid}}
	set := func(path string, v any) {
		if v != nil {
			ops = append(ops, map[string]any{"op": "add", "path": path, "value": v})
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		set("/metadata/"+field, meta[field])
	}
	owners := fields.List(meta, "ownerReferences") // of a claim that nothing owns any more none
	set("/metadata/ownerReferences", append([]any{}, owners...))
	if v := s.versionForOwners(pk); v != "" {
		set("/metadata/resourceVersion", v)
	}
	for _, field := range mirroredFields() {
		set("/"+field, mirror[field])
	}
	set("/status", mirror["status"])
	patch, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode mirrored object %s: %w", pk, err)
	}
	obj, err := s.cfg.API.Patch(ctx, pk, mirroredVersion(pk), "", patch)
	if apierrors.IsInvalid(err) && !o.held {
		s.cfg.Log.Debug("mirrored object is made anew", "key", pk.String(), "err", err)
		s.queue.Add(k)
		return s.removeMirror(ctx, k, pk.Name, o)
	}
	if err != nil {
		return ignoreNotFound(fmt.Errorf("change mirrored object %s: %w", pk, err))
	}
	s.madeMirror(k, pk, w, obj)
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// madeMirror takes over what the API made of a mirrored Pod.
func (s *Summary) madeMirror(k, pk store.Key, w wanted, obj map[string]any) {
	meta := fields.Map(obj, "metadata")
	uid := fields.String(meta, "uid")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overtakenLocked(pk) {
		s.queue.Add(k)
		return
	}
	if n := s.shown[pk]; revisionOf(obj) >= n.revision {
		m := s.mirrorOfLocked(k)
		if m.objects[pk.Name].uid != uid {
			s.wakeBelowLocked(k)
		}
		m.objects[pk.Name] = mirrorOf(meta, w.target, w.hash)
		s.names[pk] = k
		s.shown[pk] = shown{
			now:      statusOf(obj),
			asked:    canonical(w.status),
			got:      statusOf(obj),
			revision: revisionOf(obj),
		}
	}
}

// mirrorHash is two hashes: which Pod it is, and all that people see of it but its status. Of names
// what the object is completed from.
func mirrorHash(of string, object map[string]any) string {
	meta := fields.Map(object, "metadata")
	born := hashOf([]any{meta["creationTimestamp"], meta["uid"]})
	all := []any{meta["labels"], meta["annotations"], meta["ownerReferences"]}
	for _, field := range mirroredFields() {
		all = append(all, object[field])
	}
	if of != "" {
		all = append(all, of)
	}
	seen := hashOf(all)
	return born.String()[:8] + "." + seen.String()
}

func sameMirror(a, b string) bool {
	x, _, _ := strings.Cut(a, ".")
	y, _, _ := strings.Cut(b, ".")
	return x == y
}

// mirrorFor is the Pod as it is created in the space.
func mirrorFor(k store.Key, name string, w wanted) map[string]any {
	meta := fields.Map(w.object, "metadata")
	notes := unmarked(fields.Map(meta, "annotations"))
	notes[v1alpha1.AnnotationReportedFrom], notes[annotationReportedHash] = w.target, w.hash
	if t, ok := meta["creationTimestamp"].(string); ok {
		notes[v1alpha1.AnnotationReportedCreation] = t
	}
	if name != k.Name {
		notes[annotationReportedAs] = k.Name
	}
	if uid, ok := meta["uid"].(string); ok && uid != "" {
		notes[annotationReportedUID] = uid
	}
	out := map[string]any{"name": name, "namespace": k.Namespace, "annotations": notes}
	for _, field := range []string{"generateName", "ownerReferences"} {
		if v, ok := meta[field]; ok {
			out[field] = v
		}
	}
	if labels, ok := meta["labels"].(map[string]any); ok {
		out["labels"] = unmarked(labels)
	}
	if w.beside {
		uncontrolled(out)
	}
	w.addSpaceOwners(out)
	apiVersion, kind := mirroredType(k)
	mirror := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": out}
	for _, field := range mirroredFields() {
		if v, ok := w.object[field]; ok {
			mirror[field] = v
		}
	}
	customize.TakeAPI(mirror, apiVersion, kind)
	if len(w.status) > 0 {
		var status map[string]any
		if json.Unmarshal(w.status, &status) == nil {
			mirror["status"] = status
		}
	}
	return mirror
}

// unmarked copies the labels or the annotations that a target reports, without those of skerry.dev:
// they say whose an object is, and who it was before (v1alpha1.AnnotationImport). No agent reports
// any, but that of slices that are not whole.
func unmarked(of map[string]any) map[string]any {
	out := maps.Clone(of)
	if out == nil {
		out = map[string]any{}
	}
	maps.DeleteFunc(out, func(name string, _ any) bool {
		return name != store.SlicesTruncated && exchange.IsSkerryKey(name)
	})
	return out
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
