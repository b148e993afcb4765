package upsync

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/upsync"
)

// observe takes over a write, and tells whether it is of what is kept.
func (u *Upsync) observe(w store.Write) bool {
	if w.Key.Space == v1alpha1.RootSpace {
		return false
	}
	switch {
	case w.Key.Group == v1alpha1.GroupVersion.Group && w.Key.Resource == "placements":
		return u.placement(w)
	case w.Key.IsUpsync():
		return u.stored(w)
	case w.Key.Namespace == "":
		return false
	}
	return u.object(w)
}

// placement takes over what a Placement asks for.
func (u *Upsync) placement(w store.Write) bool {
	k := w.Key
	k.Resource = store.UpsyncsResource
	var o v1alpha1.Placement
	if w.Object != nil && len(fields.List(w.Object, "spec", "upsync")) > 0 && !u.decode(w, &o) {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	was := u.wishes[k]
	if len(o.Spec.Upsync) == 0 {
		delete(u.wishes, k)
		if was != nil || u.records[k] != nil {
			u.queue.Add(k)
		}
		return false
	}
	u.wishes[k] = &wish{
		uid: string(o.UID), generation: o.Generation, revision: w.Revision, objects: o.Spec.Upsync,
		conditions: o.Status.Conditions,
	}
	if was == nil || was.generation != o.Generation || was.uid != string(o.UID) {
		u.queue.Add(k)
	}
	return true
}

// stored takes over an Upsync as it is stored.
func (u *Upsync) stored(w store.Write) bool {
	var o v1alpha1.Upsync
	if w.Object != nil && !u.decode(w, &o) {
		return true
	}
	u.mu.Lock()
	was := u.records[w.Key]
	if w.Object == nil {
		delete(u.records, w.Key)
	} else {
		r := &record{uid: string(o.UID), generation: o.Generation, revision: w.Revision, object: o}
		r.fromParent = o.Annotations[v1alpha1.AnnotationOriginUID] != ""
		if i := slices.IndexFunc(o.OwnerReferences, isPlacement); i >= 0 {
			r.of = string(o.OwnerReferences[i].UID)
		}
		r.rule, _ = upsync.Parse(encode(w.Object))
		if was != nil {
			r.told = was.told
		}
		u.records[w.Key] = r
	}
	now := u.records[w.Key]
	u.mu.Unlock()
	if was == nil || now == nil || was.uid != now.uid || was.generation != now.generation {
		u.wake(w.Key)
	}
	return now != nil
}

// object takes over an object that came, or one that was in the way of others.
func (u *Upsync) object(w store.Write) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if k, blocks := u.waiting[w.Key]; blocks && w.Object == nil {
		delete(u.waiting, w.Key)
		u.queue.Add(k)
	}
	m, is := mirrorOf(w.Object)
	was, had := u.mirrors[w.Key]
	if !is && !had {
		return false
	}
	k := upsync.Key(w.Key)
	if !is {
		delete(u.mirrors, w.Key)
		u.queue.Add(k)
		return false
	}
	m.apiVersion = w.APIVersion
	if u.mirrors[w.Key] = m; !had || was != m {
		u.nameLocked(k)
		u.queue.Add(k)
	}
	return true
}

// mirrorOf reads what is known of an object that came. It is false for others.
func mirrorOf(obj map[string]any) (m mirror, is bool) {
	if obj == nil {
		return m, false
	}
	meta := fields.Map(obj, "metadata")
	notes := fields.Map(meta, "annotations")
	m = mirror{
		target: fields.String(notes, v1alpha1.AnnotationReportedFrom), of: fields.String(notes, v1alpha1.AnnotationUpsync),
		hash: fields.String(notes, annotationHash), uid: fields.String(meta, "uid"),
		apiVersion: fields.String(obj, "apiVersion"),
	}
	return m, m.target != "" && m.of != ""
}

func (u *Upsync) decode(w store.Write, into any) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(w.Object, into)
	if err != nil {
		u.cfg.Log.Error("object of our own is not understood, the one before stays", "key", w.Key.String(), "err", err)
	}
	return err == nil
}
