package summary

import (
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
)

// The status that an object shows is what targets reported that it was on. Once it is on others, and none
// of these has reported, nothing is known to run: the status is empty, and a condition says why. A
// center that has just started does not know who reported what is shown, and leaves it.

// outlived reports whether what is shown of an object is by targets that it is not on any more.
func (s *Summary) outlived(at placement.Located) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := s.shown[at.Key].by
	return by != nil && len(at.Targets) > 0 &&
		!slices.ContainsFunc(at.Targets, func(t string) bool { return slices.Contains(*by, t) })
}

// tells notes that what is shown of an object is by its targets.
func (s *Summary) tells(at placement.Located) {
	s.update(at.Key, func(n *shown) {
		if n.by == nil || !slices.Equal(*n.by, at.Targets) {
			on := at.Targets
			n.by = &on
		}
	})
}

// notReported says that no target has reported an object yet.
func notReported(at placement.Located) condition {
	return condition{since: time.Now(), Condition: placement.Condition{Type: v1alpha1.ConditionObjectSynced,
		Reason: notToldByAll, Message: "not reported yet by " + placement.Some(slices.Sorted(slices.Values(at.Targets)))}}
}
