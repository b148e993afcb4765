package store

import (
	"context"
	"sort"
	"sync"
)

// BodyFunc renders the body of a live key when it is sent. It returns the generation that the body belongs to. An error
// that is ErrGone means that the key vanished meanwhile: a tombstone will follow, the entry is left out.
type BodyFunc func(ctx context.Context, k Key) (body []byte, generation int64, err error)

// Change is one step of a Feed: a live value, or a tombstone when Hash is zero.
type Change struct {
	Key        Key
	Hash       Hash
	Generation int64
}

// Feed is what a sender publishes: an ordered set of keys, the last value of a key wins. It holds keys, hashes and
// revisions, never bodies. It is a compacted set, not a log: how much a receiver that comes back must read grows with what
// changed, not with how long it was away. All methods may be called concurrently.
type Feed struct {
	incarnation Incarnation
	body        BodyFunc

	mu    sync.Mutex
	items map[Key]*item
	log   []logged // ascending revisions; an item whose revision moved on leaves a stale element behind
	live  int
	head  int64
	floor int64
	dead  int
	outer [Fanout]Digest
	wake  chan struct{}
}

type item struct {
	hash       Hash
	generation int64
	revision   int64
}

type logged struct {
	revision int64
	key      Key
}

// MaxTombstones is how many tombstones a Feed keeps; older ones raise its Floor, and a receiver below it compares digests.
const MaxTombstones = 100_000

// NewFeed returns an empty feed whose history begins at revision floor: a receiver whose position is older, or whose copy may
// hold keys from before, must compare digests.
func NewFeed(incarnation Incarnation, floor int64, body BodyFunc) *Feed {
	return &Feed{incarnation: incarnation, body: body, items: map[Key]*item{}, head: floor, floor: floor, wake: make(chan struct{})}
}

// Apply records the changes of one revision as one step that no reader sees half of. The revision must not be smaller than the head.
// Values equal to what the feed has change nothing; it reports how many changed.
func (f *Feed) Apply(revision int64, changes ...Change) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range changes {
		if f.put(revision, c) {
			n++
		}
	}
	if revision > f.head {
		f.head = revision
	}
	if n > 0 {
		f.compact()
		close(f.wake)
		f.wake = make(chan struct{})
	}
	return n
}

func (f *Feed) put(revision int64, c Change) bool {
	old, ok := f.items[c.Key]
	if !ok && c.Hash == (Hash{}) {
		return false
	}
	if ok && old.hash == c.Hash {
		return false
	}
	o, _ := Bucket(c.Key)
	if ok && old.hash != (Hash{}) {
		f.outer[o].Remove(c.Key, old.hash)
		f.live--
	} else if ok {
		f.dead--
	}
	if c.Hash != (Hash{}) {
		f.outer[o].Add(c.Key, c.Hash)
		f.live++
	} else {
		f.dead++
	}
	if !ok {
		old = &item{}
		f.items[c.Key] = old
	}
	*old = item{hash: c.Hash, generation: c.Generation, revision: revision}
	f.log = append(f.log, logged{revision, c.Key})
	return true
}

// compact drops stale log elements once they are the majority, and the oldest tombstones beyond MaxTombstones.
func (f *Feed) compact() {
	if f.dead > MaxTombstones {
		for _, l := range f.log {
			if it := f.items[l.key]; it != nil && it.revision == l.revision && it.hash == (Hash{}) {
				delete(f.items, l.key)
				f.dead--
				f.floor = max(f.floor, l.revision)
				if f.dead <= MaxTombstones*3/4 {
					break
				}
			}
		}
	}
	if len(f.log) < 64 || len(f.log) < 2*len(f.items) {
		return
	}
	kept := f.log[:0]
	for _, l := range f.log {
		if it := f.items[l.key]; it != nil && it.revision == l.revision {
			kept = append(kept, l)
		}
	}
	clear(f.log[len(kept):])
	f.log = kept
}

// Since returns the entries with a revision greater than after, oldest first and without bodies, at most limit of them (0 means
// all). Entries of one revision are never split over two answers, so an answer may exceed limit.
func (f *Feed) Since(after int64, limit int) []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := sort.Search(len(f.log), func(i int) bool { return f.log[i].revision > after })
	var out []Entry
	for _, l := range f.log[start:] {
		if limit > 0 && len(out) >= limit && out[len(out)-1].Revision != l.revision {
			break
		}
		if it := f.items[l.key]; it != nil && it.revision == l.revision {
			out = append(out, it.entry(l.key))
		}
	}
	return out
}

func (it *item) entry(k Key) Entry {
	return Entry{Key: k, Revision: it.revision, Hash: it.hash, Generation: it.generation, Tombstone: it.hash == (Hash{})}
}

// Get returns the entry of a key, without its body.
func (f *Feed) Get(k Key) (Entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it, ok := f.items[k]
	if !ok {
		return Entry{}, false
	}
	return it.entry(k), true
}

// Body renders the body of a live key.
func (f *Feed) Body(ctx context.Context, k Key) ([]byte, int64, error) { return f.body(ctx, k) }

// Changed returns a channel that is closed at the next change. Take it before reading, so that no change is missed.
func (f *Feed) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wake
}

// Head is the newest position.
func (f *Feed) Head() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Position{f.incarnation, f.head}
}

// Floor is the oldest revision from which Since is complete, deletions included.
func (f *Feed) Floor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.floor
}

// Len is the number of live entries.
func (f *Feed) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// Root implements Digested.
func (f *Feed) Root() Digest {
	f.mu.Lock()
	defer f.mu.Unlock()
	var d Digest
	for _, b := range f.outer {
		d.Merge(b)
	}
	return d
}

// Outer implements Digested.
func (f *Feed) Outer() ([Fanout]Digest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outer, nil
}

// Inner implements Digested. It reads the whole feed: it is called only for buckets that differ.
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
	for k, it := range f.items {
		if it.hash == (Hash{}) {
			continue
		}
		if o, in := Bucket(k); o == outer {
			visit(in, k, it.hash)
		}
	}
}
