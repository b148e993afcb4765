package store

import (
	"context"
	"slices"
	"sort"
)

// Since returns the entries with a revision greater than after, oldest first and without bodies, at
// most limit of them; 0 is all. It never splits the entries of one revision, so it may return more
// than limit.
func (f *Feed) Since(after int64, limit int) []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, _ := f.readLocked(f.seekLocked(after), limit)
	return out
}

// Cursor is a reader's place in a Feed of this process. Unlike a revision it also tells apart two
// steps of one revision.
type Cursor int64

// CursorAt returns the place behind everything that a receiver at revision after has. Changes that
// were recorded under that revision when it could be read already are behind the place.
func (f *Feed) CursorAt(after int64) Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := sort.Search(len(f.log), func(i int) bool { return f.log[i].at > stepOf(after, false) })
	if i < len(f.log) {
		return Cursor(f.log[i].seq - 1)
	}
	return Cursor(f.seq)
}

// Read returns the entries behind a cursor as Since does, the cursor behind them, and the position
// of a receiver that has them all.
func (f *Feed) Read(c Cursor, limit int) ([]Entry, Cursor, Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := sort.Search(len(f.log), func(i int) bool { return f.log[i].seq > int64(c) })
	out, next := f.readLocked(start, limit)
	if next == len(f.log) {
		return out, Cursor(f.seq), f.atLocked(f.head)
	}
	return out, Cursor(f.log[next].seq - 1), f.atLocked(out[len(out)-1].Revision)
}

// ruleCount is 1 for a key of ClassRule.
func ruleCount(k Key) int {
	if k.Class() == ClassRule {
		return 1
	}
	return 0
}

// Rules returns the live entries of ClassRule with a revision greater than after.
func (f *Feed) Rules(after int64) []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == 0 {
		return nil
	}
	out, _ := f.readLocked(f.seekLocked(after), 0)
	return slices.DeleteFunc(out, func(e Entry) bool { return e.Tombstone || e.Key.Class() != ClassRule })
}

// Snapshot returns the newest position, the digest at it and the cursor behind it, as one step.
func (f *Feed) Snapshot() (Position, Digest, Cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.atLocked(f.head), f.whole, Cursor(f.seq)
}

// All returns every live entry, without bodies and in the order of their last change.
func (f *Feed) All() []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, _ := f.readLocked(0, 0)
	return slices.DeleteFunc(out, func(e Entry) bool { return e.Tombstone })
}

func (f *Feed) seekLocked(after int64) int {
	return sort.Search(len(f.log), func(i int) bool { return f.log[i].at > stepOf(after, true) })
}

// readLocked returns entries from the log's index start on, and the index behind them.
func (f *Feed) readLocked(start, limit int) ([]Entry, int) {
	var out []Entry
	for i, l := range f.log[start:] {
		if limit > 0 && len(out) >= limit && out[len(out)-1].Revision != l.at.revision() {
			return out, start + i
		}
		if !l.stale {
			out = append(out, l.entry())
		}
	}
	return out, len(f.log)
}

func (it *item) entry() Entry {
	e := Entry{Key: it.value.Key, Revision: it.at.revision(), Hash: it.value.Hash, Generation: it.value.Generation,
		Removal: it.removal, Intended: it.intended, Priority: it.priority}
	if e.Tombstone = it.tombstone(); e.Tombstone {
		e.Priority = PriorityError
	}
	return e
}

// Get returns the entry of a key, without its body.
func (f *Feed) Get(k Key) (Entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it := f.items.Get(k)
	if it == nil {
		return Entry{}, false
	}
	return it.entry(), true
}

// Body renders the body of a live key.
func (f *Feed) Body(ctx context.Context, k Key) ([]byte, int64, error) { return f.body(ctx, k) }

// Watch calls a function after each change, until stop is called. When stop has returned, the
// function does not run. It must not block.
func (f *Feed) Watch(changed func()) (stop func()) { return f.changes.Subscribe(changed) }

// Head returns the newest position.
func (f *Feed) Head() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.atLocked(f.head)
}

// Floor returns the oldest revision from which Since is complete, deletions included.
func (f *Feed) Floor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.floor
}

// Len returns the number of live entries.
func (f *Feed) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// Tombstones returns the number of tombstones that the feed keeps.
func (f *Feed) Tombstones() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tombstones
}

// Root implements Digested.
func (f *Feed) Root() Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.whole
}

// Outer implements Digested.
func (f *Feed) Outer() ([Fanout]Digest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outer, nil
}

// Inner implements Digested. It reads the whole feed, so it is for buckets that differ.
func (f *Feed) Inner(outer int) ([Fanout]Digest, error) {
	var out [Fanout]Digest
	f.each(outer, func(inner int, k Key, h Hash) { out[inner].Add(k, h) })
	return out, nil
}

// Members implements Digested.
func (f *Feed) Members(outer, inner int) ([]KeyHash, error) {
	var out []KeyHash
	f.each(outer, func(in int, k Key, h Hash) {
		if in == inner {
			out = append(out, KeyHash{k, h})
		}
	})
	return out, nil
}

func (f *Feed) each(outer int, visit func(inner int, k Key, h Hash)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for it := range f.items.All() {
		if it.tombstone() {
			continue
		}
		if o, in := Bucket(it.value.Key); o == outer {
			visit(in, it.value.Key, it.value.Hash)
		}
	}
}
