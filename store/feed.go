package store

import (
	"context"
	"sync"

	"skerry.dev/skerry/store/compactmap"
)

// BodyFunc renders the body of a live key when it is sent, and returns the generation that the body
// belongs to. ErrGone means that the key has no value any more: the entry is left out, and a
// tombstone follows.
type BodyFunc func(ctx context.Context, k Key) (body []byte, generation int64, err error)

// Change is one step of a Feed: a live value, or a tombstone when Hash is zero.
type Change struct {
	Key        Key
	Hash       Hash
	Generation int64
	// Removal is how a tombstone removes; it is ignored in a live value.
	Removal Removal
	// Intended is as in Entry.
	Intended bool
	// Priority of the value; that of a tombstone is PriorityError.
	Priority Priority
}

// Feed is what a sender publishes: the last value of each key, in the order of their changes. It
// holds keys, hashes and revisions, never bodies. It is a compacted set and no log: what a receiver
// that comes back must read grows with what changed, not with how long it was away. All methods may
// be called concurrently.
type Feed struct {
	incarnation Incarnation
	eras        Eras
	body        BodyFunc
	intended    func(Key) bool

	mu    sync.Mutex
	items *compactmap.Index[Key, item]
	log   []logged // ascending; an item that changed again leaves a stale element behind
	// tombstoneLog are the tombstones of the log.
	tombstoneLog []logged
	seq          int64
	live         int
	head         int64
	floor        int64
	tombstones   int
	outer        [Fanout]Digest
	whole        Digest // the sum of outer
	history      digestHistory

	changes Notifier
}

type item struct {
	key        Key
	hash       Hash
	generation int64
	revision   int64
	seq        int64 // 0 once it is forgotten
	removal    Removal
	intended   bool
	priority   Priority
}

func (it *item) keyPtr() *Key { return &it.key }

// logged is one change of an item; what a feed has twice for each key is to be small.
type logged struct {
	seq  int64
	at   step
	item *item
}

// step is a revision, doubled. It is 1 more for a change that was recorded when the revision could
// be read already: a receiver at that revision may lack it.
type step int64

func stepOf(revision int64, again bool) step {
	if again {
		return step(2*revision + 1)
	}
	return step(2 * revision)
}

func (s step) revision() int64 { return int64(s) / 2 }

// stale reports whether the key has changed again since, or was forgotten.
func (l logged) stale() bool { return l.item.seq != l.seq }

// MaxTombstones is how many tombstones a Feed keeps that its receiver has not stored yet. Dropping
// the oldest raises its Floor, and a receiver below the Floor compares digests. It bounds a target
// that is away for long to some megabytes.
const MaxTombstones = 10_000

// NewFeed returns an empty feed whose history begins at revision floor. A receiver whose position
// is older, or whose copy may hold keys from before, compares digests.
func NewFeed(incarnation Incarnation, floor int64, body BodyFunc) *Feed {
	return &Feed{incarnation: incarnation, body: body, items: compactmap.NewIndex((*item).keyPtr),
		head: floor, floor: floor}
}

// In sets the eras of the sender's data and returns the feed. It must be called before anything
// else.
func (f *Feed) In(eras Eras) *Feed {
	f.eras = eras
	return f
}

// Intends sets what decides, when a tombstone is sent, whether it is Intended, and returns the
// feed. It must be called before anything else.
func (f *Feed) Intends(intended func(Key) bool) *Feed {
	f.intended = intended
	return f
}

// Intended reports whether a tombstone of this key is intended now, see Entry.
func (f *Feed) Intended(k Key) bool { return f.intended != nil && f.intended(k) }

// Shared returns the revision up to which the history of a receiver at p is that of this feed, or
// NotShared.
func (f *Feed) Shared(p Position) int64 {
	head := f.Head()
	if p.Incarnation != head.Incarnation {
		return NotShared
	}
	return f.eras.Shared(p.Era, head.Revision)
}

func (f *Feed) atLocked(revision int64) Position {
	return Position{f.incarnation, f.eras.current(), revision}
}

// Apply records the changes of one revision. No reader sees half of them. A revision below the head
// counts as the head. A change to the value that the feed has already is none. It returns how many
// keys changed, and calls those who Watch if there is one.
func (f *Feed) Apply(revision int64, changes ...Change) int {
	n := f.apply(revision, changes)
	if n > 0 {
		f.changes.Notify()
	}
	return n
}

func (f *Feed) apply(revision int64, changes []Change) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	again := revision <= f.head
	revision = max(revision, f.head)
	n := 0
	for _, c := range changes {
		if f.putLocked(revision, again, c) {
			n++
		}
	}
	f.head = revision
	if n > 0 {
		f.history.add(f.seq, f.whole)
		f.compactLocked()
	}
	return n
}

func (f *Feed) putLocked(revision int64, again bool, c Change) bool {
	old := f.items.Get(c.Key)
	ok := old != nil
	if !ok && c.Hash == (Hash{}) {
		return false
	}
	if c.Hash != (Hash{}) {
		c.Removal, c.Intended = RemoveDelete, false
	}
	if ok && old.hash == c.Hash && old.removal == c.Removal {
		return false
	}
	o, _ := Bucket(c.Key)
	if ok && old.hash != (Hash{}) {
		p := pairSum(c.Key, old.hash)
		f.outer[o].sub(p)
		f.whole.sub(p)
		f.live--
	} else if ok {
		f.tombstones--
	}
	if c.Hash != (Hash{}) {
		p := pairSum(c.Key, c.Hash)
		f.outer[o].add(p)
		f.whole.add(p)
		f.live++
	} else {
		f.tombstones++
	}
	if !ok {
		old = &item{key: c.Key}
		f.items.Put(old)
	}
	f.seq++
	*old = item{key: c.Key, hash: c.Hash, generation: c.Generation, revision: revision, seq: f.seq,
		removal: c.Removal, intended: c.Intended, priority: c.Priority}
	f.log = append(f.log, logged{f.seq, stepOf(revision, again), old})
	if c.Hash == (Hash{}) {
		f.tombstoneLog = append(f.tombstoneLog, logged{f.seq, stepOf(revision, again), old})
	}
	return true
}
