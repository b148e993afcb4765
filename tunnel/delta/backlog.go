package delta

import (
	"cmp"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// backlog is what was read from a feed and is not sent yet: the last value of each key.
type backlog struct {
	// urgentFirst puts the more urgent first; otherwise entries go in the order of application.
	urgentFirst bool

	waiting compactmap.Map[store.Key, waiting]
	count   int
	sorted  []waiting // nil when it is to be made anew
	since   time.Time // when it was empty last
}

type waiting struct {
	store.Entry
	place int // in the order of the feed
}

func newBacklog(urgentFirst bool) backlog {
	return backlog{urgentFirst: urgentFirst}
}

func (b *backlog) len() int { return b.waiting.Len() }

// add queues entries. An entry stays as urgent as the most urgent of its values that wait here.
func (b *backlog) add(at time.Time, entries ...store.Entry) {
	if len(entries) == 0 {
		return
	}
	if b.len() == 0 {
		b.since = at
	}
	for _, e := range entries {
		if old, ok := b.waiting.Find(e.Key); ok {
			e.Priority = min(e.Priority, old.Priority)
		}
		b.count++
		b.waiting.Put(e.Key, waiting{e, b.count})
	}
	b.sorted = nil
}

// next returns what may go, in the order in which it goes.
func (b *backlog) next(last store.Priority) []waiting {
	if b.sorted == nil {
		b.sorted = make([]waiting, 0, b.len())
		for _, w := range b.waiting.All() {
			b.sorted = append(b.sorted, w)
		}
		slices.SortFunc(b.sorted, b.compare)
	}
	if !b.urgentFirst {
		return b.sorted
	}
	n, _ := slices.BinarySearchFunc(
		b.sorted,
		last+1,
		func(w waiting, p store.Priority) int { return cmp.Compare(w.Priority, p) },
	)
	return b.sorted[:n]
}

func (b *backlog) compare(x, y waiting) int {
	if b.urgentFirst {
		if c := cmp.Compare(x.Priority, y.Priority); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(x.Rank(), y.Rank()), cmp.Compare(x.place, y.place))
}

// done removes the first n entries that next returned.
func (b *backlog) done(n int) {
	for _, w := range b.sorted[:n] {
		b.waiting.Delete(w.Key)
	}
	b.sorted = b.sorted[n:]
	if b.len() == 0 {
		b.sorted, b.count = nil, 0
	}
}
