package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// rename takes over the new name of a SyncTarget, and reports whether it has one. Its feed goes on, so
// its site gets nothing anew.
func (s *step) rename(name, uid string) bool {
	d := s.d
	id := d.catalog.Records.Targets.ID(uid, name)
	old := d.catalog.Records.Targets.Of(id).Name
	if old == name {
		return false
	}
	d.catalog.Records.Targets.Rename(id, name)
	t := d.catalog.Targets[old]
	if t == nil || t.UID != uid {
		return false // only records have named it so far
	}
	delete(d.catalog.Targets, old)
	d.catalog.Targets[name] = t
	moveKey(d.catalog.Removing, old, name)
	moveKey(d.catalog.Rooms.Overflow, old, name)
	d.Doubts.rename(old, name)
	d.catalog.RenameLivesOn(old, name)
	catalog.RenameDoors(d.catalog, old, name)
	s.renamedTo = name
	return true
}

func moveKey[V any](in map[string]V, from, to string) {
	if v, ok := in[from]; ok {
		in[to] = v
		delete(in, from)
	}
}

// rename gives the doubts about a target to another name of it.
func (d *doubts) rename(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[string]map[store.Key]int64{}
	}
	moveKey(d.since, from, to)
	moveKey(d.upTo, from, to)
}
