package scheduler

import "skerry.dev/skerry/server/binding"

// Target is a SyncTarget that a record names.
type Target struct {
	UID, Name string
}

// Targets gives each SyncTarget a number for as long as this process lives. A record is stored with
// the UIDs, so that the numbers need not be.
type Targets struct {
	known []Target
	byUID map[string]binding.TargetID
}

// ID is the number of a SyncTarget. The name is that of its UID, until Rename says another one.
func (t *Targets) ID(uid, name string) binding.TargetID {
	id, ok := t.byUID[uid]
	if !ok {
		if t.byUID == nil {
			t.byUID = map[string]binding.TargetID{}
		}
		t.known = append(t.known, Target{uid, name})
		id = binding.TargetID(len(t.known))
		t.byUID[uid] = id
	}
	return id
}

// Rename gives a SyncTarget that has a number another name.
func (t *Targets) Rename(id binding.TargetID, name string) { t.known[id-1].Name = name }

// Of is the SyncTarget that a number stands for.
func (t *Targets) Of(id binding.TargetID) Target {
	if id == 0 || int(id) > len(t.known) {
		return Target{}
	}
	return t.known[id-1]
}
