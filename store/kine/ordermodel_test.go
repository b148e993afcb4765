package kine

import (
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// change is a write that was acknowledged.
type change struct {
	key, value string
	revision   int64
	deleted    bool
}

// after is the revision of the key that there is then, or 0.
func (c change) after() int64 {
	if c.deleted {
		return 0
	}
	return c.revision
}

type pair struct {
	key, value string
	revision   int64
}

// listed is what a list found, of at most limit keys, and how many keys it said that there are.
type listed struct {
	prefix       string
	limit, count int
	revision     int64
	found        []pair
}

// trial counts what was tried.
type trial struct{ writes, events, lists, watches, skipped int }

func (a *trial) add(b trial) {
	a.writes, a.events, a.lists, a.watches = a.writes+b.writes, a.events+b.events, a.lists+b.lists,
		a.watches+b.watches
	a.skipped += b.skipped
}

// compare waits until every watcher was told of the last write, and compares what they and the
// lists have with the writes.
func (o *ordering) compare(begin int64, watchers []*watcher) trial {
	slices.SortFunc(o.writes, func(a, b change) int { return int(a.revision - b.revision) })
	n := trial{writes: len(o.writes), lists: len(o.lists)}
	for _, w := range watchers {
		for _, c := range slices.Backward(o.writes) {
			if strings.HasPrefix(c.key, w.prefix) {
				w.until(c.revision)
				break
			}
		}
		w.mu.Lock()
		o.compareEvents(w)
		n.events, n.watches, n.skipped = n.events+len(w.told), n.watches+w.begun,
			n.skipped+w.skipped
		w.told, w.begun, w.skipped = nil, 0, 0
		w.mu.Unlock()
	}
	o.replay()
	return n
}

// compareEvents compares what a watch told with what was written, and the values before with those
// that there were.
func (o *ordering) compareEvents(w *watcher) {
	before := maps.Clone(o.state)
	var want []change
	for _, c := range o.writes {
		switch {
		case c.revision < w.from:
			apply(before, c)
		case strings.HasPrefix(c.key, w.prefix):
			want = append(want, c)
		}
	}
	for i := range max(len(want), len(w.told)) {
		switch {
		case i >= len(w.told):
			o.t.Errorf("a watch of %s from %d lacks %d %s", w.prefix, w.from, want[i].revision,
				want[i].key)
			return
		case i >= len(want) || w.told[i].Kv.ModRevision != want[i].revision ||
			string(w.told[i].Kv.Key) != want[i].key:
			o.t.Errorf("a watch of %s from %d has %v as its %dth event of %d", w.prefix, w.from,
				w.told[i], i, len(want))
			return
		}
		c, e := want[i], w.told[i]
		if (e.Type == mvccpb.Event_DELETE) != c.deleted || !c.deleted && string(e.Kv.Value) != c.value {
			o.t.Errorf("a watch of %s has %v for %v", w.prefix, e, c)
		}
		was, there := before[c.key]
		if e.PrevKv == nil == there || there && (string(e.PrevKv.Value) != was.value ||
			e.PrevKv.ModRevision != was.revision) {
			o.t.Errorf("a watch of %s has %v as what was before %d of %s, in place of %v", w.prefix,
				e.PrevKv, c.revision, c.key, was)
		}
		apply(before, c)
	}
}

func apply(state map[string]pair, c change) {
	if c.deleted {
		delete(state, c.key)
	} else {
		state[c.key] = pair{c.key, c.value, c.revision}
	}
}

// replay makes the state of one revision after the other, and compares with the lists that were
// made of it.
func (o *ordering) replay() {
	slices.SortFunc(o.lists, func(a, b listed) int { return int(a.revision - b.revision) })
	writes := o.writes
	for _, l := range o.lists {
		for len(writes) > 0 && writes[0].revision <= l.revision {
			apply(o.state, writes[0])
			writes = writes[1:]
		}
		var want []pair
		for key, p := range o.state {
			if strings.HasPrefix(key, l.prefix) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		if l.count != len(want) {
			o.t.Errorf("a list of %s at %d counts %d of %d", l.prefix, l.revision, l.count,
				len(want))
		}
		if l.limit > 0 {
			want = want[:min(l.limit, len(want))]
		}
		if !slices.Equal(l.found, want) {
			o.t.Errorf("a list of %s at %d, at most %d, has\n%v\nand not\n%v", l.prefix, l.revision,
				l.limit, l.found, want)
		}
	}
	for _, c := range writes {
		apply(o.state, c)
	}
}
