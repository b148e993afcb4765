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
func (g *Guard) weigh(batch store.Batch) (next state, released bool, err error) {
	next = g.is // only this goroutine, which has the commit lock, changes it
	n, lowest := 0, batch.Through.Revision
	for _, e := range batch.Entries {
		if !counts(e) {
			continue
		}
		old, ok, err := g.Copy.Get(e.Key)
		if err != nil {
			return next, false, fmt.Errorf("look at what is to be deleted: %w", err)
		}
		if ok && !old.Tombstone {
			n++
			lowest = min(lowest, e.Revision-1)
		}
	}
	at := g.Copy.Position()
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
		gathered = len(g.held)
	}
	next.Gathering = false
	if total := n + gathered; total > 0 && !next.On {
		now := time.Now()
		g.recent = slices.DeleteFunc(g.recent, func(m moment) bool { return now.Sub(m.at) > Window })
		objects, gone := g.Copy.Len()+gathered, total
		for _, m := range g.recent {
			objects, gone = objects+m.n, gone+m.n
		}
		switch {
		case at.Revision == store.Comparing && total <= next.Allowed:
			g.cfg.Log.Info("deletions that were accepted with the center are carried out", "deletions", total)
			g.confirm(batch.Entries)
		case g.tooMany(gone, objects):
			next.On, next.Objects = true, objects
			g.cfg.Log.Warn("too much is to be deleted at once; it is held until an admin confirms it",
				"deletions", gone, "objects", objects)
		default:
			g.recent = append(g.recent, moment{now, total})
		}
	}
	next.Allowed = 0
	return next, gathered > 0 && !next.On, nil
}

func (g *Guard) tooMany(gone, objects int) bool {
	return g.cfg.Share < 100 && gone >= Least && gone*100 > objects*g.cfg.Share
}

// confirm records tombstones that an admin has confirmed, and those gathered with them.
func (g *Guard) confirm(entries []store.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, revision := range g.held {
		g.confirmed[k] = revision
	}
	for _, e := range entries {
		if counts(e) {
			g.confirmed[e.Key] = e.Revision
		}
	}
}

// become makes a state durable, and then current.
func (g *Guard) become(next state) error {
	if next == g.is {
		return nil
	}
	data, err := json.Marshal(next)
	if err == nil && (next.On || next.Gathering || next.Allowed > 0 || g.is.On || g.is.Gathering || g.is.Allowed > 0) {
		err = g.cfg.Values.SetMeta(valueName, data)
	}
	if err != nil {
		return fmt.Errorf("note the state of the guard: %w", err)
	}
	g.mu.Lock()
	g.is = next
	g.mu.Unlock()
	return nil
}

// countHeld updates what is withheld after a batch was stored.
func (g *Guard) countHeld(batch store.Batch, released bool) error {
	g.forget(batch.Entries)
	if released {
		g.release(func(int64) bool { return true })
		return nil
	}
	if !g.is.On && !g.is.Gathering {
		return nil
	}
	for _, e := range batch.Entries {
		now, ok, err := g.Copy.Get(e.Key)
		if err != nil {
			return fmt.Errorf("look at what is held: %w", err)
		}
		g.mu.Lock()
		delete(g.held, e.Key)
		g.mu.Unlock()
		if ok && g.Holds(now) {
			g.mu.Lock()
			g.held[e.Key] = now.Revision
			g.mu.Unlock()
		}
	}
	return g.done()
}
