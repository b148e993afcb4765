package apply

import "skerry.dev/skerry/store"

// pendingDeletes has the objects that were deleted from here, by UID. When one is desired again
// before its deletion ends, that end is no external delete.
type pendingDeletes struct{ *tracks }

// begin is called before the target is asked to delete an object.
func (g pendingDeletes) begin(k store.Key, uid string) {
	g.change(k, func(t *tracked) { t.deleted = uid })
}

// end drops the deletion: its outcome is known.
func (g pendingDeletes) end(k store.Key) { g.begin(k, "") }

// gone reports whether the object that went was deleted from here, and drops the deletion.
func (g pendingDeletes) gone(k store.Key, uid string) (ours bool) {
	g.change(k, func(t *tracked) {
		if ours = t.deleted == uid; ours {
			t.deleted = ""
		}
	})
	return ours
}
