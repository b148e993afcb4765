package summary

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// othersMayTell reports whether a controller in the space may be the one that tells the status of a
// kind: that of custom resources, and that of Ingresses, whose controller may work in the space.
func othersMayTell(k store.Key) bool {
	return !placement.BuiltIn(k.Group) || k.Group == "networking.k8s.io" && k.Resource == "ingresses"
}

// foreignStatus reports whether the status of an object is not the targets' to say: others may tell
// it, and somebody in the space has written it, such as an operator that works there. What it has
// found out is more than the copy on a target knows of, and a fight about it would never end. It was
// so at a revision, 0 where nothing is known: what is written because of that must not overwrite a
// later one.
func (s *Summary) foreignStatus(ctx context.Context, at placement.Located) (theirs bool, revision int64, err error) {
	if !othersMayTell(at.Key) || at.Class != placement.Placed {
		return false, 0, nil
	}
	s.mu.Lock()
	n := s.shown[at.Key]
	s.mu.Unlock()
	if n.theirs || n.now == n.got || n.now == emptyStatus() {
		return n.theirs, n.revision, nil
	}
	defer s.begin(at.Key)()
	obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
	if apierrors.IsNotFound(err) {
		return false, 0, nil // whoever writes to it is told why
	}
	if err != nil {
		return false, 0, err
	}
	theirs = writtenByOthers(obj)
	s.update(at.Key, func(n *shown) {
		if n.theirs = theirs; !theirs && statusOf(obj) == n.now {
			n.asked, n.got = n.now, n.now
		}
	})
	return theirs, revisionOf(obj), nil
}

// unchanged returns the revision that such an object must still have when its status is written,
// so that what somebody in the space writes for the first time is not lost; or that it is theirs
// already.
func (s *Summary) unchanged(
	ctx context.Context,
	at placement.Located,
	revision int64,
) (now int64, theirs bool, err error) {
	if revision != 0 {
		return revision, false, nil
	}
	obj, err := s.cfg.API.Get(ctx, at.Key, at.APIVersion)
	if err != nil {
		return 0, false, err
	}
	if writtenByOthers(obj) {
		s.update(at.Key, func(n *shown) { n.theirs = true })
		return 0, true, nil
	}
	return revisionOf(obj), false, nil
}

// writtenByOthers reports whether anybody but the center and its tools is a manager of the status.
func writtenByOthers(obj map[string]any) bool {
	meta := fields.Map(obj, "metadata")
	managers := fields.List(meta, "managedFields")
	for _, m := range managers {
		entry, _ := m.(map[string]any)
		name := fields.String(entry, "manager")
		fields := fields.Map(entry, "fieldsV1")
		if _, ok := fields["f:status"]; ok && !strings.HasPrefix(name, "skerry") {
			return true
		}
	}
	return false
}
