package summary

import (
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Reset takes a snapshot of everything at a revision: what each object shows now.
func (s *Summary) Reset(_ int64, all store.Listing) {
	seen := map[store.Key]struct{}{}
	s.mu.Lock()
	clear(s.annotated)
	clear(s.ending)
	clear(s.unplaced)
	s.mu.Unlock()
	for w := range all.Objects(nil) {
		s.foundEvent(w)
		if s.observe(w) {
			seen[w.Key] = struct{}{}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.shown {
		if _, ok := seen[k]; !ok {
			delete(s.shown, k)
			s.unmirrorLocked(k)
		}
	}
	for k := range s.writing {
		if _, ok := seen[k]; !ok {
			s.overtakeLocked(k)
		}
	}
	for k := range s.shown {
		s.queue.Add(k)
	}
	s.primed = true
	for k := range s.mirrors {
		s.queue.Add(k)
	}
}

// Apply takes one write, in the order of revisions. A status that somebody else wrote is put right
// unless it is theirs, and what a decision changed is said again.
func (s *Summary) Apply(w store.Write) {
	if w.Object == nil {
		s.pacing.forget(w.Key)
		s.last.forget(w.Key)
		s.mu.Lock()
		s.overtakeLocked(w.Key)
		delete(s.shown, w.Key)
		delete(s.refused, w.Key)
		delete(s.extra, w.Key)
		delete(s.annotated, w.Key)
		delete(s.untold, w.Key)
		delete(s.worded, w.Key)
		delete(s.autoscaled, w.Key)
		delete(s.ending, w.Key)
		delete(s.unplaced, w.Key)
		s.unmirrorLocked(w.Key)
		s.wakeOwnedLocked(w.Key, "gone")
		s.mu.Unlock()
		return
	}
	s.observe(w)
}

// Progress is the end of a group of writes. There is nothing to do.
func (s *Summary) Progress(int64) {}

// observe takes over what an object shows, and tells whether it is one that is kept.
func (s *Summary) observe(w store.Write) bool {
	if w.Object == nil || w.Key.Space == v1alpha1.RootSpace {
		return false
	}
	status := fields.Map(w.Object, "status")
	s.mu.Lock()
	defer s.mu.Unlock()
	if isMirrored(w.Key) && s.observeMirrorLocked(w) {
		return true
	}
	s.observeAnnotationsLocked(w)
	s.observeEndingLocked(w)
	if !placement.Told(w.Key.Group, w.Key.Resource) {
		return false
	}
	s.wakeOwnedLocked(w.Key, ownerNote(w.Object))
	_, kept := s.shown[w.Key]
	if !kept && len(status) == 0 {
		if s.refused[w.Key] != nil {
			s.queue.Add(w.Key)
		}
		return false
	}
	s.observeUnplacedLocked(w)
	s.observeStatusLocked(w)
	return true
}

// observeStatusLocked takes over a status and wakes the writer, unless the write is the echo of its
// own.
func (s *Summary) observeStatusLocked(w store.Write) {
	n := s.shown[w.Key]
	if w.Revision < n.revision {
		return
	}
	now := statusOf(w.Object)
	echo := w.Revision == n.revision && now == n.now
	n.now, n.revision, n.outage = now, w.Revision, saysUnreachable(w.Object)
	n.observeFilledLocked(w.Key, w.Object, echo)
	s.shown[w.Key] = n
	if !echo {
		s.queue.Add(w.Key)
	}
}

// forget drops what is known of an object that is on no target.
func (s *Summary) forget(k store.Key) {
	s.mu.Lock()
	_, refused := s.refused[k]
	delete(s.refused, k)
	delete(s.extra, k)
	if n, ok := s.shown[k]; ok {
		n.by = nil
		s.shown[k] = n
	}
	delete(s.untold, k)
	delete(s.worded, k)
	delete(s.autoscaled, k)
	s.mu.Unlock()
	if refused {
		s.wakeNeeding(k)
	}
}

func ownerNote(obj map[string]any) string {
	meta := fields.Map(obj, "metadata")
	notes := fields.Map(meta, "annotations")
	note := fields.String(notes, v1alpha1.AnnotationTargets)
	return note
}
