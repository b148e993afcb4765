package delivery

import (
	"sync"

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

// of returns the revision that is to be confirmed before a report counts, 0 when it does.
func (d *doubts) of(target string, k store.Key) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since[target][k]
}

// drop ends a doubt: the target has said that the object is gone, or is not to have it any more.
func (d *doubts) drop(target string, k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(d.since[target], k); len(d.since[target]) == 0 {
		delete(d.since, target)
	}
}

// confirm takes over what a target has confirmed, and returns the objects whose reports count now.
func (d *doubts) confirm(target string, revision int64) (keys []store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
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

// forget drops what concerns a target that does not exist any more.
func (d *doubts) forget(target string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, target)
}

// doubtJoined doubts, after a restart, what targets report of objects that a change has given them
// and that is not complete: whether they report what they had before is not known any more. The
// lock must be held.
func (d *Delivery) doubtJoined(revision int64) {
	d.eachObject(func(o *object) {
		var before *set
		switch h := d.holds[o]; {
		case !o.present || o.source == nil:
			return
		case h != nil:
			before = h.on
		case o.source.move != nil:
			before = d.sets.of(o.source.move.From)
		default:
			return
		}
		for _, t := range d.sets.minus(o.on, before).list() {
			if d.shows(t, o) {
				d.doubts.add(t, o.key(), revision)
			}
		}
	})
}

// Confirmed tells that a target has confirmed up to a revision, as Config.Confirm asked: what it
// reports now, it reports knowing that.
func (d *Delivery) Confirmed(target string, revision int64) {
	d.Reported(target, d.doubts.confirm(target, revision))
}
