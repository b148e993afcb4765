package apply

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// tracked is what is known of one object beside its record, until the next start: what others do to it, and what was
// asked of the target and may not have happened yet. Of most objects it is nothing.
type tracked struct {
	drift   drift
	contest *conflict // nil for none
	// deleted is the UID of the object whose deletion was asked for, and whose outcome is unknown.
	deleted string
	// doubt is the version after which it is known what the object is, see Applier.doubt.
	doubt uint64
	// recheck has it looked at whether the target would still alter the object.
	recheck bool
	// stopped is since when it is a CronJob that is stopped.
	stopped time.Time
}

// tracks are the rows of all objects of which there is something to know. What is written here about an object is
// forgotten with it, see finish.
type tracks struct {
	mu     sync.Mutex
	rows   compactmap.Map[store.Key, tracked]
	pruned time.Time // when contests that are over were dropped
}

// of is the row of an object.
func (t *tracks) of(k store.Key) tracked {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows.Get(k)
}

// change has do change the row of an object. do must do nothing else: the lock is held.
func (t *tracks) change(k store.Key, do func(*tracked)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.rows.Get(k)
	now := was
	do(&now)
	switch {
	case now == was:
	case now == tracked{}:
		t.rows.Delete(k)
	default:
		t.rows.Put(k, now)
	}
}

// forget drops the row of an object.
func (t *tracks) forget(k store.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows.Delete(k)
}
