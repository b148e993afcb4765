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

// Value is what a feed has of a key. It is never changed, so many feeds may share one.
type Value struct {
	Key        Key
	Hash       Hash
	Generation int64
}

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

	value *Value // nil has the feed make its own
}

// Change returns the change to a value. Each feed that takes it keeps the pointer, so that a sender with
// many feeds has the value in memory once.
func (v *Value) Change() Change {
	return Change{Key: v.Key, Hash: v.Hash, Generation: v.Generation, value: v}
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
	log   []*item // ascending; a key that changed again leaves a stale item behind
	// tombstoneLog are the tombstones of the log.
	tombstoneLog []*item
	seq          int64
	live         int
	rules        int // live entries of ClassRule
	head         int64
	floor        int64
	tombstones   int
	outer        [Fanout]Digest
	whole        Digest // the sum of outer
	history      digestHistory

	changes Notifier
}

// item is one change of a key. A center has one for each object and target, so it takes 32 bytes, and
// another 32 in items and log.
type item struct {
	value    *Value
	at       step
	seq      int64
	removal  Removal
	intended bool
	priority Priority
	stale    bool // the key has changed again since, or was forgotten
}

func (it *item) keyPtr() *Key { return &it.value.Key }

func (it *item) isStale() bool { return it.stale }

func (it *item) tombstone() bool { return it.value.Hash == (Hash{}) }

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
	return Position{f.incarnation, f.eras.Current(), revision}
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
	if ok && old.value.Hash == c.Hash && old.removal == c.Removal {
		return false
	}
	o, _ := Bucket(c.Key)
	if ok && !old.tombstone() {
		p := pairSum(c.Key, old.value.Hash)
		f.outer[o].sub(p)
		f.whole.sub(p)
		f.live--
		f.rules -= ruleCount(c.Key)
	} else if ok {
		f.tombstones--
	}
	if c.Hash != (Hash{}) {
		p := pairSum(c.Key, c.Hash)
		f.outer[o].add(p)
		f.whole.add(p)
		f.live++
		f.rules += ruleCount(c.Key)
	} else {
		f.tombstones++
	}
	if ok {
		old.stale = true
	}
	v := c.value
	if v == nil {
		v = &Value{Key: c.Key, Hash: c.Hash, Generation: c.Generation}
	}
	f.seq++
	it := &item{value: v, at: stepOf(revision, again), seq: f.seq, removal: c.Removal, intended: c.Intended,
		priority: c.Priority}
	f.items.Put(it)
	f.log = append(f.log, it)
	if it.tombstone() {
		f.tombstoneLog = append(f.tombstoneLog, it)
	}
	return true
}
