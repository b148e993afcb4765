package summary

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// mirrorTargets is the number of targets up to which the Pods of a placed object are readable in
// the space.
const mirrorTargets = placement.MostMirrored

// Annotations of mirrored Pods. What reaches into a Pod reads its name and its UID, too
// (tunnel/exchange).
const (
	// annotationReportedAs is the Pod's name on its target, where that is another than in the
	// space.
	annotationReportedAs = exchange.ReportedAs
	// annotationReportedUID is the Pod's UID on its target.
	annotationReportedUID = exchange.ReportedUID
	// annotationReportedHash tells which Pod was mirrored, and as what it was seen: two hashes with
	// a dot between them.
	annotationReportedHash = "skerry.dev/reported-hash"
)

// mirrored is what is known of one reported Pod name in one namespace: the targets that may have
// such a Pod, and what the space has of them.
type mirrored struct {
	targets map[string]int    // with how often they reported, so that none is forgotten while it reports again
	objects map[string]mirror // by name in the space
	taken   bool              // the space has a Pod of this name that is not a mirror
	owner   store.Key
	above   store.Key // the reported key of what controls it, where that is not the owner
	waits   time.Time // since when that is waited for
}

// mirror is one Pod in the space.
type mirror struct {
	target, uid, hash string
	deleting          bool  // it is shown as being deleted
	held              bool  // it has gone at its target, and only finalizers of the space keep it
	owners            []any // in the space, which its target does not know
}

// mirrorReported notes that a target has, or had, a Pod of that name.
func (s *Summary) mirrorReported(target string, k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mirrorOfLocked(k).targets[target]++
}

// mirrorOfLocked returns what is known of a reported name, making it when there is nothing.
func (s *Summary) mirrorOfLocked(k store.Key) *mirrored {
	m := s.mirrors[k]
	if m == nil {
		m = &mirrored{targets: map[string]int{}, objects: map[string]mirror{}}
		s.mirrors[k] = m
		s.slices.add(k)
	}
	return m
}

// observeMirrorLocked takes over a mirrored Pod from a write. It is false for other Pods.
func (s *Summary) observeMirrorLocked(w store.Write) bool {
	meta := fields.Map(w.Object, "metadata")
	notes := fields.Map(meta, "annotations")
	target, ok := notes[v1alpha1.AnnotationReportedFrom].(string)
	if !ok {
		return false
	}
	k := reportKey(w.Key, notes)
	m := s.mirrorOfLocked(k)
	hash := fields.String(notes, annotationReportedHash)
	uid := fields.String(meta, "uid")
	if m.objects[w.Key.Name].uid != uid {
		s.wakeBelowLocked(k)
	}
	m.objects[w.Key.Name] = mirrorOf(meta, target, hash)
	s.names[w.Key] = k
	s.departed.forget(w.Key)
	if !joined(k) {
		m.targets[target]++
	}
	if owner, ok := serviceOf(k, w.Object); ok {
		s.addOwnerLocked(k, m, owner)
	}
	n := s.shown[w.Key]
	if w.Revision >= n.revision {
		if now := statusOf(w.Object); now != n.now {
			s.queue.Add(k)
			n.now = now
		}
		n.revision = w.Revision
		s.shown[w.Key] = n
	}
	return true
}

// mirrorOf reads what is known of a mirror from its metadata.
func mirrorOf(meta map[string]any, target, hash string) mirror {
	deleting := fields.String(meta, "deletionTimestamp") != ""
	return mirror{
		target: target, uid: fields.String(meta, "uid"), hash: hash, deleting: deleting, owners: spaceOwners(meta),
		held: deleting && graceOf(meta) == 0 && len(fields.List(meta, "finalizers")) > 0,
	}
}

func reportKey(k store.Key, notes map[string]any) store.Key {
	if name, ok := notes[annotationReportedAs].(string); ok {
		k.Name = name
	}
	return k
}

// unmirrorLocked notes that a Pod is not in the space any more, whoever deleted it.
func (s *Summary) unmirrorLocked(k store.Key) {
	if !isMirrored(k) {
		return
	}
	if rk, ok := s.names[k]; ok {
		delete(s.names, k)
		if m := s.mirrors[rk]; m != nil {
			s.departed.add(k, m.owner, m.objects[k.Name].target)
			delete(m.objects, k.Name)
		}
		s.wakeBelowLocked(rk)
		s.queue.Add(rk)
	}
	if m := s.mirrors[k]; m != nil && m.taken {
		m.taken = false
		s.queue.Add(k)
	}
}

// owner is a placed object that has mirrored Pods, with the places that its annotation last told.
type owner struct {
	pods map[store.Key]struct{}
	note string
}

// addOwnerLocked notes whose Pods a reported name stands for.
func (s *Summary) addOwnerLocked(rk store.Key, m *mirrored, by store.Key) {
	if m.owner == by {
		return
	}
	s.removeOwnerLocked(rk, m)
	m.owner = by
	o := s.owners[by]
	if o == nil {
		o = &owner{pods: map[store.Key]struct{}{}}
		s.owners[by] = o
	}
	o.pods[rk] = struct{}{}
}

func (s *Summary) removeOwnerLocked(rk store.Key, m *mirrored) {
	if o := s.owners[m.owner]; o != nil {
		if delete(o.pods, rk); len(o.pods) == 0 {
			delete(s.owners, m.owner)
		}
	}
}

// wakeOwnedLocked looks again at the mirrored Pods of an object that has moved or is gone.
func (s *Summary) wakeOwnedLocked(by store.Key, note string) {
	o := s.owners[by]
	if o == nil || o.note == note {
		return
	}
	o.note = note
	for rk := range o.pods {
		s.queue.Add(rk)
	}
}

// mirror makes the Pods of one reported name in the space what the targets report.
func (s *Summary) mirror(ctx context.Context, k store.Key) error {
	s.mu.Lock()
	m := s.mirrors[k]
	if m == nil {
		s.mu.Unlock()
		return nil
	}
	counts, have, taken, of := maps.Clone(m.targets), maps.Clone(m.objects), m.taken, m.owner
	primed := s.primed
	s.mu.Unlock()
	if joined(k) && !primed {
		return nil // the slices may not all be known; the end of Reset comes back to this
	}
	reporting := slices.Sorted(maps.Keys(counts))
	read := func() (map[string]wanted, []string, error) { return s.wantedMirrors(ctx, k, reporting, taken) }
	if joined(k) {
		read = func() (map[string]wanted, []string, error) { return s.wantedEndpoints(k, of, reporting, taken) }
	}
	want, gone, err := read()
	if err != nil {
		return err
	}
	before := maps.Clone(have)
	for name, o := range have {
		if w, ok := want[name]; !ok || w.target != o.target && !joined(k) && !w.identified() || !sameMirror(w.hash, o.hash) {
			if o.held { // what comes next waits for it, as in a cluster
				delete(want, name)
				continue
			}
			if err := s.removeMirror(ctx, k, name, o); err != nil {
				return err
			}
			delete(have, name)
		}
	}
	var failed error
	for name, w := range want {
		if w.waits {
			continue
		}
		failed = errors.Join(failed, s.putMirror(ctx, k, name, w, have), s.terminate(ctx, k, name, w))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirrors[k] != m {
		return failed
	}
	s.wakeSlicesLocked(k, before, m.objects)
	s.wakeEndpointsLocked(k, m, want)
	for _, t := range gone {
		if m.targets[t] == counts[t] {
			delete(m.targets, t)
		}
	}
	for _, w := range want {
		s.addOwnerLocked(k, m, w.owner)
	}
	if len(m.targets) == 0 && len(m.objects) == 0 {
		s.removeOwnerLocked(k, m)
		s.belowLocked(k, m, store.Key{})
		delete(s.mirrors, k)
		s.slices.remove(k)
	}
	return failed
}
