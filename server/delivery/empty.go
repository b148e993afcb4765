package delivery

import (
	"slices"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// empty takes everything off a target whose SyncTarget is being deleted with the policy Clean.
// Groups that are there are decided anew, without it; whatever they decide, nothing comes back to
// it.
func (s *step) empty(name string, t *target, obj map[string]any) {
	if t.emptied || str(obj, "metadata", "deletionTimestamp") == "" ||
		str(obj, "spec", "detachPolicy") != string(v1alpha1.DetachClean) {
		return
	}
	t.emptied = true
	for _, e := range t.feed.All() {
		s.changes[name] = append(s.changes[name], store.Change{Key: e.Key, Intended: true})
	}
}

// onlyTombstones drops what would be placed on a target that is being emptied.
func onlyTombstones(changes []store.Change) []store.Change {
	return slices.DeleteFunc(changes, func(c store.Change) bool { return c.Hash != store.Hash{} })
}
