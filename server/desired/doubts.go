package desired

import (
	"sync"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// doubts are the objects that a target is to have again, and of which it still reports what it had
// before: it may be about to remove that, or has done so and could not say it. Such a report is no
// arrival until the target has confirmed: it has durably stored that it is to have the object, and
// told everything anew after that. Or until it says that the object is gone: then the next report
// is of what came.
type doubts struct {
	mu    sync.Mutex
	since map[string]map[store.Key]int64 // target -> object -> the revision of its feed that is to be confirmed
	upTo  map[string]int64               // target -> what it has confirmed
}

// add doubts the report of a target on an object until it has confirmed a revision.
func (d *doubts) add(target string, k store.Key, revision int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[string]map[store.Key]int64{}
	}
	if d.since[target] == nil {
		d.since[target] = map[store.Key]int64{}
	}
	d.since[target][k] = revision
}

// Of returns the revision that is to be confirmed before a report counts, 0 when it does.
func (d *doubts) Of(target string, k store.Key) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since[target][k]
}

// Drop ends a doubt: the target has said that the object is gone, or is not to have it any more.
func (d *doubts) Drop(target string, k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(target, k)
}

func (d *doubts) dropLocked(target string, k store.Key) {
	if delete(d.since[target], k); len(d.since[target]) == 0 {
		delete(d.since, target)
	}
}

// take ends a doubt that has not become another one since.
func (d *doubts) take(target string, k store.Key, revision int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since[target][k] == revision {
		d.dropLocked(target, k)
	}
}

// Confirm takes over what a target has confirmed, and returns the objects whose reports count now.
func (d *doubts) Confirm(target string, revision int64) (keys []store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.upTo == nil {
		d.upTo = map[string]int64{}
	}
	d.upTo[target] = max(d.upTo[target], revision)
	for k, since := range d.since[target] {
		if since <= revision {
			keys = append(keys, k)
			delete(d.since[target], k)
		}
	}
	if len(d.since[target]) == 0 {
		delete(d.since, target)
	}
	return keys
}

// Confirmed returns the revision up to which a target has confirmed.
func (d *doubts) Confirmed(target string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.upTo[target]
}

// forget drops what concerns a target that does not exist any more.
func (d *doubts) forget(target string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, target)
	delete(d.upTo, target)
}

// doubtJoined doubts, after a restart, what targets report of objects that a change has given them
// and that is not complete: whether they report what they had before is not known any more. The
// lock must be held.
func (st *State) doubtJoined(revision int64) {
	st.catalog.EachObject(func(o *catalog.Object) {
		if !o.Present || o.Source == nil {
			return
		}
		for _, p := range st.catalog.Records.Index.Record(st.catalog.Records.Of(o)).Places {
			if name := st.catalog.Records.Targets.Of(p.Target).Name; p.For != 0 && o.On.Has(name) {
				st.doubt(name, o, revision)
			}
		}
	})
}

// doubt doubts what a target reports of an object that it is to have again. What it reports is looked at once the
// lock is released: until then everything is doubted. The lock must be held.
func (st *State) doubt(target string, o *catalog.Object, revision int64) {
	k, uid := o.Key(), o.UID
	st.Doubts.add(target, k, revision)
	st.catalog.After(func() {
		if !st.Shows(target, k, uid) {
			st.Doubts.take(target, k, revision)
		}
	})
}

// Dispel ends the doubts about objects of which a target says now that it does not have them. The lock must not be
// held.
func (st *State) Dispel(target string, keys []store.Key) {
	for _, k := range keys {
		revision := st.Doubts.Of(target, k)
		if revision == 0 {
			continue
		}
		uid, known := st.uid(k)
		if !known || !st.Shows(target, k, uid) {
			st.Doubts.take(target, k, revision)
		}
	}
}

// uid is that of an object. It reports false for one that is not known.
func (st *State) uid(k store.Key) (string, bool) {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	o := st.catalog.Find(k)
	if o == nil {
		return "", false
	}
	return o.UID, true
}

// Shows reports whether a target says that it has this very object, or that it cannot have it. It reads the report:
// the lock must not be held.
func (st *State) Shows(target string, k store.Key, uid string) bool {
	p, ok := st.cfg.Progress(target, k)
	return ok && p.UID == uid
}
