package deletionguard

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/store"
)

// weigh decides what a batch changes in the guard's state. released is true if what was gathered is
// not too much.
func (b *Guard) weigh(batch store.Batch) (next state, released bool, err error) {
	next = b.is // only this goroutine, which has the commit lock, changes it
	n, lowest := 0, batch.Through.Revision
	for _, e := range batch.Entries {
		if !counts(e) {
			continue
		}
		old, ok, err := b.Copy.Get(e.Key)
		if err != nil {
			return next, false, fmt.Errorf("look at what is to be deleted: %w", err)
		}
		if ok && !old.Tombstone {
			n++
			lowest = min(lowest, e.Revision-1)
		}
	}
	at := b.Copy.Position()
	switch {
	case n == 0 || next.On:
	case next.Gathering:
		next.Free = min(next.Free, lowest)
	default:
		next.Free = min(at.Revision, lowest)
	}
	if batch.More {
		next.Gathering = next.Gathering || n > 0
		return next, false, nil
	}
	gathered := 0
	if next.Gathering && !next.On {
		gathered = len(b.held)
	}
	next.Gathering = false
	if total := n + gathered; total > 0 && !next.On {
		now := time.Now()
		b.recent = slices.DeleteFunc(b.recent, func(m moment) bool { return now.Sub(m.at) > Window })
		objects, gone := b.Copy.Len()+gathered, total
		for _, m := range b.recent {
			objects, gone = objects+m.n, gone+m.n
		}
		switch {
		case at.Revision == store.Comparing && total <= next.Allowed:
			b.cfg.Log.Info("deletions that were accepted with the center are carried out", "deletions", total)
			b.confirm(batch.Entries)
		case b.tooMany(gone, objects):
			next.On, next.Objects = true, objects
			b.cfg.Log.Warn("too much is to be deleted at once; it is held until an admin confirms it",
				"deletions", gone, "objects", objects)
		default:
			b.recent = append(b.recent, moment{now, total})
		}
	}
	next.Allowed = 0
	return next, gathered > 0 && !next.On, nil
}

func (b *Guard) tooMany(gone, objects int) bool {
	return b.cfg.Share < 100 && gone >= Least && gone*100 > objects*b.cfg.Share
}

// confirm records tombstones that an admin has confirmed, and those gathered with them.
func (b *Guard) confirm(entries []store.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, revision := range b.held {
		b.confirmed[k] = revision
	}
	for _, e := range entries {
		if counts(e) {
			b.confirmed[e.Key] = e.Revision
		}
	}
}

// become makes a state durable, and then current.
func (b *Guard) become(next state) error {
	if next == b.is {
		return nil
	}
	data, err := json.Marshal(next)
	if err == nil && (next.On || next.Gathering || next.Allowed > 0 || b.is.On || b.is.Gathering || b.is.Allowed > 0) {
		err = b.cfg.Values.SetMeta(valueName, data)
	}
	if err != nil {
		return fmt.Errorf("note the state of the guard: %w", err)
	}
	b.mu.Lock()
	b.is = next
	b.mu.Unlock()
	return nil
}

// countHeld updates what is withheld after a batch was stored.
func (b *Guard) countHeld(batch store.Batch, released bool) error {
	b.forget(batch.Entries)
	if released {
		b.release(func(int64) bool { return true })
		return nil
	}
	if !b.is.On && !b.is.Gathering {
		return nil
	}
	for _, e := range batch.Entries {
		now, ok, err := b.Copy.Get(e.Key)
		if err != nil {
			return fmt.Errorf("look at what is held: %w", err)
		}
		b.mu.Lock()
		delete(b.held, e.Key)
		b.mu.Unlock()
		if ok && b.Holds(now) {
			b.mu.Lock()
			b.held[e.Key] = now.Revision
			b.mu.Unlock()
		}
	}
	return b.done()
}
