package store_test

import (
	"testing"

	"skerry.dev/skerry/store"
)

func TestBellCallsWhoIsThere(t *testing.T) {
	var b store.Notifier
	b.Notify()
	one, two := 0, 0
	off := b.Subscribe(func() { one++ })
	b.Subscribe(func() { two++ })
	b.Notify()
	off()
	off()
	b.Notify()
	if one != 1 || two != 2 {
		t.Errorf("called %d and %d times, want 1 and 2", one, two)
	}
}

// Whoever watches a feed is called after a change, when it can be read, and not when nothing has
// changed.
func TestFeedTellsOfChanges(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	k := store.Key{Resource: "configmaps", Name: "a"}
	var heads []int64
	off := feed.Watch(func() { heads = append(heads, feed.Head().Revision) })
	hash := store.HashBody(1, []byte("{}"))
	feed.Apply(5, store.Change{Key: k, Hash: hash})
	feed.Apply(6, store.Change{Key: k, Hash: hash})
	feed.Apply(7, store.Change{Key: k})
	off()
	feed.Apply(8, store.Change{Key: k, Hash: hash})
	if len(heads) != 2 || heads[0] != 5 || heads[1] != 7 {
		t.Errorf("told at %v, want 5 and 7", heads)
	}
}
