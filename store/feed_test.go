package store_test

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/store"
)

func feedKey(i int) store.Key {
	return store.Key{Space: "shop", Resource: "configmaps", Namespace: "web",
		Name: fmt.Sprint("c", i)}
}

// change makes a value, or with 0 a tombstone.
func change(key, value int) store.Change {
	c := store.Change{Key: feedKey(key), Generation: int64(value)}
	if value > 0 {
		c.Hash = store.HashBody(int64(value), []byte{byte(value)})
	}
	return c
}

// Whatever is applied: a reader by revision or by cursor ends up with the last values, never sees a
// revision split, and the digests are those of the live entries.
func TestFeedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := int64(rapid.IntRange(0, 5).Draw(t, "floor"))
		feed := store.NewFeed(store.NewIncarnation(), floor, nil)
		revision := floor
		live := map[store.Key]store.Hash{}
		byRevision, byCursor := map[store.Key]store.Hash{}, map[store.Key]store.Hash{}
		position, cursor := floor, feed.CursorAt(floor)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			revision += int64(rapid.IntRange(0, 2).Draw(t, "advance"))
			var changes []store.Change
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				c := change(rapid.IntRange(0, 30).Draw(t, "key"),
					rapid.IntRange(0, 3).Draw(t, "value"))
				changes = append(changes, c)
				if c.Hash == (store.Hash{}) {
					delete(live, c.Key)
				} else {
					live[c.Key] = c.Hash
				}
			}
			feed.Apply(revision, changes...)
			limit := rapid.IntRange(0, 4).Draw(t, "limit")
			if rapid.Bool().Draw(t, "read") {
				var entries []store.Entry
				var at store.Position
				entries, cursor, at = feed.Read(cursor, limit)
				apply(t, byCursor, entries)
				if at.Revision > feed.Head().Revision || len(entries) > 0 &&
					at.Revision < entries[len(entries)-1].Revision {
					t.Fatalf("at %s behind %d entries, head %s", at, len(entries), feed.Head())
				}
				position = readSince(t, feed, byRevision, position-1, limit)
			}
		}
		entries, _, at := feed.Read(cursor, 0)
		apply(t, byCursor, entries)
		readSince(t, feed, byRevision, position-1, 0)
		if !maps.Equal(byCursor, live) || !maps.Equal(byRevision, live) || at != feed.Head() {
			t.Fatalf("readers have %d and %d, want %d, or they differ", len(byCursor),
				len(byRevision), len(live))
		}
		checkFeed(t, feed, live)
	})
}

// readSince reads from a position on. Two steps of one revision may lie on either side of it, so
// its revision is read again.
func readSince(t *rapid.T, feed *store.Feed, into map[store.Key]store.Hash, position int64,
	limit int) int64 {
	entries := feed.Since(position, limit)
	apply(t, into, entries)
	if len(entries) == 0 {
		return position + 1
	}
	last := entries[len(entries)-1].Revision
	for _, e := range feed.Since(position, 0)[len(entries):] {
		if e.Revision <= last {
			t.Fatalf("revision %d was split", last)
		}
	}
	return last
}

func apply(t *rapid.T, into map[store.Key]store.Hash, entries []store.Entry) {
	seen := map[store.Key]bool{}
	for _, e := range entries {
		if seen[e.Key] {
			t.Fatalf("%s twice in one answer", e.Key)
		}
		seen[e.Key] = true
		if e.Tombstone {
			delete(into, e.Key)
		} else {
			into[e.Key] = e.Hash
		}
	}
}

func checkFeed(t *rapid.T, feed *store.Feed, live map[store.Key]store.Hash) {
	var root store.Digest
	for k, h := range live {
		root.Add(k, h)
		if e, ok := feed.Get(k); !ok || e.Hash != h {
			t.Fatalf("get %s: %v %t", k, e, ok)
		}
	}
	if feed.Root() != root || feed.Len() != len(live) || len(feed.All()) != len(live) {
		t.Fatalf("the digest or the length (%d, want %d) is wrong", feed.Len(), len(live))
	}
	outer, _ := feed.Outer()
	members := 0
	for o := range outer {
		inner, _ := feed.Inner(o)
		var sum store.Digest
		for in := range inner {
			sum.Merge(inner[in])
			m, _ := feed.Members(o, in)
			members += len(m)
		}
		if sum != outer[o] {
			t.Fatalf("outer bucket %d is not the sum of its inner ones", o)
		}
	}
	if members != len(live) {
		t.Fatalf("%d members, want %d", members, len(live))
	}
}

func TestFeedChanged(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	if n := feed.Apply(1, change(1, 1)); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
	if n := feed.Apply(2, change(1, 1), change(9, 0)); n != 0 {
		t.Errorf("%d changes by an equal value and a deletion of nothing, want 0", n)
	}
	if feed.Head().Revision != 2 {
		t.Errorf("head %s", feed.Head())
	}
}

// An older revision than the head counts as the head: no reader misses it.
func TestFeedLateRevision(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	feed.Apply(10, change(1, 1))
	_, _, cursor := feed.Snapshot()
	feed.Apply(4, change(2, 1))
	entries, _, at := feed.Read(cursor, 0)
	if len(entries) != 1 || entries[0].Revision != 10 || at.Revision != 10 {
		t.Errorf("%v at %s", entries, at)
	}
}

// Tombstones are kept up to a number; dropping the oldest raises the floor.
func TestFeedDropsOldTombstones(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	const n = store.MaxTombstones + 10
	for i := range n {
		feed.Apply(int64(2*i+1), change(i, 1))
		feed.Apply(int64(2*i+2), change(i, 0))
	}
	if feed.Floor() == 0 || feed.Len() != 0 {
		t.Fatalf("floor %d, %d live", feed.Floor(), feed.Len())
	}
	kept := feed.Since(feed.Floor(), 0)
	if len(kept) == 0 || len(kept) > store.MaxTombstones {
		t.Errorf("%d tombstones behind the floor", len(kept))
	}
	if _, ok := feed.Get(feedKey(0)); ok {
		t.Error("the oldest tombstone is still there")
	}
	if len(feed.Since(0, 0)) != len(kept) {
		t.Error("the floor is not where history begins")
	}
}

// A tombstone that removes otherwise than the one before it is a change, and a live value has no
// say in it.
func TestFeedRemoval(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	live := change(1, 1)
	live.Removal = store.RemoveOrphan
	feed.Apply(1, live)
	if e, _ := feed.Get(feedKey(1)); e.Removal != store.RemoveDelete {
		t.Errorf("a live entry removes by %s", e.Removal)
	}
	for i, how := range []store.Removal{store.RemoveOrphan, store.RemoveOrphan,
		store.RemoveKeepDependents} {
		n := feed.Apply(int64(i+2), store.Change{Key: feedKey(1), Removal: how})
		if e, _ := feed.Get(feedKey(1)); e.Removal != how || (n == 1) == (i == 1) {
			t.Errorf("step %d: %d changes, removes by %s", i, n, e.Removal)
		}
	}
}

// What a receiver has durably stored is not remembered for ever, and one that comes back with less
// compares.
func TestSettledTombstonesAreForgotten(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	const n = 5000
	for i := range n {
		feed.Apply(int64(2*i+1), change(i, 1))
		feed.Apply(int64(2*i+2), change(i, 0))
		if i%3 == 0 {
			feed.Apply(int64(2*i+2), change(i, 2)) // a grave that is empty again
		}
	}
	live := feed.Len()
	_, half, _ := feed.Read(feed.CursorAt(0), n/2)
	before := feed.Tombstones()
	feed.Acknowledge(half)
	if kept := feed.Tombstones(); kept >= before || kept < before/3 {
		t.Errorf("%d tombstones are left of %d after half was stored", kept, before)
	}
	after := feed.Floor()
	if entries := feed.Since(after, 0); after <= 0 || len(entries) == 0 ||
		entries[0].Revision <= after {
		t.Errorf("nothing from revision %d on", after)
	}
	feed.Acknowledge(feed.CursorAt(feed.Head().Revision))
	if kept := feed.Tombstones(); kept > 100 || feed.Floor() <= after || feed.Len() != live {
		t.Errorf("%d tombstones and %d of %d values are left, the floor is %d", kept, feed.Len(),
			live, feed.Floor())
	}
	if feed.Apply(2*n+1, change(n-1, 3)) != 1 || feed.Len() != live+1 {
		t.Error("a forgotten key does not come back")
	}
}
