package summary

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// unplaced is an object that a decision has taken from its last target, and that shows what targets
// reported of it. Nothing of it runs any more, so that status is taken away.
type unplaced struct {
	apiVersion, uid string
	status          json.RawMessage // what it shows instead
}

// observeUnplacedLocked takes over whether a write is of what may be such an object: no target is
// named on it. What has run to its end keeps its status. Summary.mu must be held.
func (s *Summary) observeUnplacedLocked(w store.Write) {
	delete(s.unplaced, w.Key)
	if placement.ClassOf(w.Key.Group, w.Key.Resource) != placement.Placed || placement.Excluded(w.Key, w.Object) ||
		ownerNote(w.Object) != "" || fields.String(fields.Map(w.Object, "metadata"), "deletionTimestamp") != "" ||
		placement.Finished(w.Key, w.Object) || s.shown[w.Key].theirs {
		return
	}
	status := withoutReports(w.Key, fields.Map(w.Object, "status"))
	if hashOf(status) == statusOf(w.Object) {
		return
	}
	if takesConditions(w.Key) && status["conditions"] == nil {
		status["conditions"] = []any{onNoTarget()}
	}
	s.unplaced[w.Key] = unplaced{w.APIVersion, fields.String(fields.Map(w.Object, "metadata"), "uid"), encode(status)}
	s.queue.Add(w.Key)
}

// withoutReports is the status of an object that no target has: our conditions stay that say why.
func withoutReports(k store.Key, status map[string]any) map[string]any {
	out := unreported(k)
	var ours []any
	for _, c := range fields.List(status, "conditions") {
		m, _ := c.(map[string]any)
		switch fields.String(m, "type") {
		case v1alpha1.ConditionObjectScheduled, v1alpha1.ConditionObjectMoving:
			ours = append(ours, c)
		}
	}
	if len(ours) > 0 {
		out["conditions"] = ours
	}
	return out
}

// onNoTarget says why a status is empty, where nothing else does.
func onNoTarget() map[string]any {
	return condition{since: time.Now(), Condition: placement.Condition{Type: v1alpha1.ConditionObjectScheduled,
		Reason: "NoTarget", Message: "it is on no target; its Placement or Namespace says why"}}.json()
}

// clearStatus takes away the status of an object that is on no target, unless somebody else has
// written it: an operator of the space, or an import. It does nothing for other objects.
func (s *Summary) clearStatus(ctx context.Context, k store.Key) error {
	s.mu.Lock()
	u, ok := s.unplaced[k]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	defer s.begin(k)()
	obj, err := s.cfg.API.Get(ctx, k, u.apiVersion)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s, which is on no target: %w", k, err)
	case !writtenByCenter(obj):
		s.mu.Lock()
		delete(s.unplaced, k)
		s.mu.Unlock()
		s.update(k, func(n *shown) { n.theirs = othersMayTell(k) && writtenByOthers(obj) })
		return nil
	}
	at := placement.Located{Key: k, APIVersion: u.apiVersion, UID: u.uid, Class: placement.Placed}
	if err := s.writeStatusSince(ctx, at, "status", u.status, nil, revisionOf(obj)); err != nil {
		return fmt.Errorf("take away the status of what is on no target: %w", err)
	}
	return nil
}

// writtenByCenter reports whether the center has written the status of an object, and nobody else has.
func writtenByCenter(obj map[string]any) (is bool) {
	for _, m := range fields.List(fields.Map(obj, "metadata"), "managedFields") {
		entry, _ := m.(map[string]any)
		if _, ok := fields.Map(entry, "fieldsV1")["f:status"]; !ok {
			continue
		}
		if is = fields.String(entry, "manager") == centerManager; !is {
			return false
		}
	}
	return is
}

// centerManager is the field manager of what the center writes; its command line has another one.
const centerManager = "skerry"
