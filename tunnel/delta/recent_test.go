package delta

import (
	"fmt"
	"testing"

	"skerry.dev/skerry/store"
)

func entryOf(i int, body string) store.Entry {
	k := store.Key{Space: "s", Resource: "configmaps", Namespace: "default", Name: fmt.Sprint(i)}
	return store.Entry{Key: k, Hash: store.HashBody(1, []byte(body)), Generation: 1, Body: []byte(body)}
}

// What was stored last is known by key and hash, within the bounds; what has changed or gone since
// is not.
func TestRecentBodies(t *testing.T) {
	r := recent{limit: 100}
	has := func(e store.Entry) bool {
		got, ok := r.get(e.Key, e.Hash)
		if ok && string(got.Body) != string(e.Body) {
			t.Errorf("%s: %q, want %q", e.Key, got.Body, e.Body)
		}
		return ok
	}
	old, now := entryOf(1, "old"), entryOf(1, "now")
	r.put([]store.Entry{old, entryOf(2, "other")})
	if r.put([]store.Entry{now}); has(old) || !has(now) || !has(entryOf(2, "other")) {
		t.Error("the last value of each key is to be known")
	}
	if r.put([]store.Entry{{Key: now.Key, Tombstone: true}}); has(now) {
		t.Error("a value that was taken away is known")
	}
	if r.put([]store.Entry{entryOf(3, fmt.Sprintf("%101d", 3))}); len(r.entries) != 1 {
		t.Errorf("%d are known after one that is too large, want 1", len(r.entries))
	}
	for i := range 100 {
		r.put([]store.Entry{entryOf(i, fmt.Sprintf("%10d", i))})
	}
	if !has(entryOf(99, fmt.Sprintf("%10d", 99))) || has(entryOf(89, fmt.Sprintf("%10d", 89))) || r.bytes != 100 {
		t.Errorf("%d with %d bytes are known, want the last 10 with 100", len(r.entries), r.bytes)
	}
	var many []store.Entry
	for i := range 100 {
		many = append(many, entryOf(i, ""))
	}
	if r.put(many); len(r.entries) != mostRecent {
		t.Errorf("%d are known, want %d", len(r.entries), mostRecent)
	}
	none := recent{}
	if none.put(many); len(none.entries) != 0 {
		t.Error("something is kept without a limit")
	}
}
