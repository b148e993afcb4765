package store_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/store"
)

// Whatever is applied and settled: who has what the feed had at a step that it recalls has with
// what comes behind it what the feed has now; the last steps are recalled as long as no tombstone
// is forgotten.
func TestFeedRecalls(t *testing.T) {
	type step struct {
		root store.Digest
		live map[store.Key]store.Hash
	}
	rapid.Check(t, func(t *rapid.T) {
		const few = 5
		feed := store.NewFeed(store.NewIncarnation(), 0, nil).WithHistory(few)
		live, steps, settles := map[store.Key]store.Hash{}, []step(nil), rapid.Bool().Draw(t,
			"settles")
		for revision := range int64(rapid.IntRange(1, 30).Draw(t, "steps")) {
			var changes []store.Change
			from, n, value := rapid.IntRange(0, 120).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t,
				"n"), rapid.IntRange(0, 3).Draw(t, "value")
			for i := range n {
				c := change(from+i, value)
				if changes = append(changes, c); c.Hash == (store.Hash{}) {
					delete(live, c.Key)
				} else {
					live[c.Key] = c.Hash
				}
			}
			if feed.Apply(revision, changes...) > 0 {
				steps = append(steps, step{feed.Root(), maps.Clone(live)})
			}
			if settles && rapid.Bool().Draw(t, "settle") {
				_, _, c := feed.Snapshot()
				feed.Acknowledge(c)
			}
		}
		for i, s := range steps {
			c, known := feed.CursorOf(s.root)
			if !known {
				if !settles && i >= len(steps)-few {
					t.Fatalf("step %d of %d is not recalled", i, len(steps))
				}
				continue
			}
			entries, _, _ := feed.Read(c, 0)
			if apply(t, s.live, entries); !maps.Equal(s.live, live) {
				t.Fatalf("from step %d of %d: %d keys, the feed has %d, or they differ", i,
					len(steps), len(s.live), len(live))
			}
		}
		if _, known := feed.CursorOf(store.Digest{Hi: 1, Lo: 2}); known {
			t.Fatal("a step is recalled that never was")
		}
	})
}
