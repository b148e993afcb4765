package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// rename takes over the new name of a SyncTarget, and reports whether it has one. Its feed goes on, so
// its site gets nothing anew.
func (s *step) rename(name, uid string) bool {
	st := s.st
	id := st.catalog.Records.Targets.ID(uid, name)
	old := st.catalog.Records.Targets.Of(id).Name
	if old == name {
		return false
	}
	st.catalog.Records.Targets.Rename(id, name)
	t := st.catalog.Targets[old]
	if t == nil || t.UID != uid {
		return false // only records have named it so far
	}
	delete(st.catalog.Targets, old)
	st.catalog.Targets[name] = t
	catalog.RenameIn(st.catalog.Removing, old, name)
	catalog.RenameIn(st.catalog.Rooms.Overflow, old, name)
	st.Doubts.rename(old, name)
	st.catalog.RenameLivesOn(old, name)
	catalog.RenameDoors(st.catalog, old, name)
	s.renamedTo = name
	return true
}

// rename gives the doubts about a target to another name of it.
func (d *doubts) rename(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[string]map[store.Key]int64{}
	}
	catalog.RenameIn(d.since, from, to)
	catalog.RenameIn(d.upTo, from, to)
}
