package store

import (
	"slices"

	"skerry.dev/skerry/store/compactmap"
)

// retainedTombstones is how many tombstones a Feed keeps although its receiver has them: how they
// remove may still change.
const retainedTombstones = 64

// Acknowledge forgets the tombstones up to a cursor, except the last few: the receiver has stored
// them durably. A receiver that comes back with an older copy is below the Floor, or finds another
// digest at the head, and compares.
func (f *Feed) Acknowledge(c Cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.tombstones > retainedTombstones && f.tombstoneLog[0].seq <= int64(c) {
		f.dropTombstoneLocked()
	}
}

// dropTombstoneLocked forgets the oldest tombstone, unless its key has changed again since.
func (f *Feed) dropTombstoneLocked() {
	l := f.tombstoneLog[0]
	if f.tombstoneLog = f.tombstoneLog[1:]; len(f.tombstoneLog) == 0 {
		f.tombstoneLog = nil
	}
	if l.stale {
		return
	}
	f.items.Delete(l.value.Key)
	f.history.forget(l.seq)
	l.stale = true
	f.tombstones--
	f.floor = max(f.floor, l.at.revision())
}

// compactLocked drops stale elements of the log once they are the majority, and the oldest
// tombstones beyond MaxTombstones.
func (f *Feed) compactLocked() {
	if f.tombstones > MaxTombstones {
		for f.tombstones > MaxTombstones*3/4 {
			f.dropTombstoneLocked()
		}
	}
	if len(f.tombstoneLog) > 64 && len(f.tombstoneLog) > 2*f.tombstones {
		f.tombstoneLog = compactmap.Shrink(slices.DeleteFunc(f.tombstoneLog, (*item).isStale))
	}
	if len(f.log) < 64 || len(f.log) < 2*f.items.Len() {
		return
	}
	f.log = compactmap.Shrink(slices.DeleteFunc(f.log, (*item).isStale))
}
