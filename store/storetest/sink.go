package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"skerry.dev/skerry/store"
)

// Sink is what a suite needs of a copy besides store.Sink.
type Sink interface {
	store.Sink
	Get(k store.Key) (store.Entry, bool, error)
}

// Options of a new Sink.
type Options struct {
	// AcceptNewIncarnation as in bolt.SinkOptions.
	AcceptNewIncarnation bool
	// KeepRemoved as in bolt.SinkOptions.
	KeepRemoved bool
	// DropRemoved as in bolt.SinkOptions.
	DropRemoved bool
}

// Run checks that a Sink does what store.Sink promises. open makes an empty one; reopen returns it
// as it is after a restart, or the same one where nothing is durable.
func Run(t *testing.T, open func(t *testing.T, o Options) (sink Sink, reopen func() Sink)) {
	t.Run("empty", func(t *testing.T) { empty(t, open) })
	t.Run("last value wins", func(t *testing.T) { lastValueWins(t, open) })
	t.Run("tombstones stay", func(t *testing.T) { tombstonesStay(t, open) })
	t.Run("tombstones say how they remove", func(t *testing.T) { removals(t, open) })
	t.Run("tombstones keep what they remove", func(t *testing.T) { keepsRemoved(t, open) })
	t.Run("tombstones go", func(t *testing.T) { dropsRemoved(t, open) })
	t.Run("older changes nothing", func(t *testing.T) { olderChangesNothing(t, open) })
	t.Run("regression is refused", func(t *testing.T) { regressionIsRefused(t, open) })
	t.Run("new incarnation accepted", func(t *testing.T) { newIncarnationAccepted(t, open) })
	t.Run("accepted", func(t *testing.T) { accepted(t, open) })
	t.Run("random", func(t *testing.T) { random(t, open) })
}

type opener func(t *testing.T, o Options) (Sink, func() Sink)

// Key is the i-th key of the suites.
func Key(i int) store.Key {
	return store.Key{Space: fmt.Sprintf("space-%d", i%3), Group: "apps", Resource: "deployments",
		Namespace: "web", Name: fmt.Sprintf("web-%d", i)}
}

// Value is a live entry.
func Value(i int, revision int64, body string) store.Entry {
	return store.Entry{Key: Key(i), Revision: revision, Generation: revision, Body: []byte(body),
		Hash: store.HashBody(revision, []byte(body))}
}

// Tombstone is the order to delete a key.
func Tombstone(i int, revision int64) store.Entry {
	return store.Entry{Key: Key(i), Revision: revision, Tombstone: true}
}

func commit(t *testing.T, s Sink, at store.Position, entries ...store.Entry) {
	t.Helper()
	if err := s.Commit(context.Background(), store.Batch{Entries: entries,
		Through: at}); err != nil {
		t.Fatalf("commit at %s: %v", at, err)
	}
	if s.Position() != at {
		t.Fatalf("position %s after a commit at %s", s.Position(), at)
	}
}

func want(t *testing.T, s Sink, e store.Entry) {
	t.Helper()
	got, ok, err := s.Get(e.Key)
	if err != nil || !ok {
		t.Fatalf("get %s: known %t, %v", e.Key, ok, err)
	}
	if got.Hash != e.Hash || got.Revision != e.Revision || got.Generation != e.Generation ||
		got.Tombstone != e.Tombstone ||
		got.Removal != e.Removal || got.Intended != e.Intended ||
		string(got.Body) != string(e.Body) {
		t.Fatalf("get %s: %+v, want %+v", e.Key, got, e)
	}
}

func empty(t *testing.T, open opener) {
	s, _ := open(t, Options{})
	if s.Position() != (store.Position{}) || s.Root() != (store.Digest{}) {
		t.Errorf("a new copy is at %s with digest %v", s.Position(), s.Root())
	}
	if _, ok, err := s.Get(Key(1)); ok || err != nil {
		t.Errorf("get: known %t, %v", ok, err)
	}
	if err := s.Admit(store.Position{Incarnation: store.NewIncarnation(),
		Revision: 5}); err != nil {
		t.Errorf("a new copy takes any sender, but: %v", err)
	}
}

func lastValueWins(t *testing.T, open opener) {
	s, reopen := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 2}
	commit(t, s, at, Value(1, 1, `{"a":1}`), Value(2, 2, `{"b":1}`), Value(1, 2, `{"a":2}`))
	at.Revision = 3
	commit(t, s, at, Value(2, 3, `{"b":2}`))
	for range 2 {
		want(t, s, Value(1, 2, `{"a":2}`))
		want(t, s, Value(2, 3, `{"b":2}`))
		if s.Position() != at {
			t.Errorf("position %s, want %s", s.Position(), at)
		}
		s = reopen()
	}
}

func tombstonesStay(t *testing.T, open opener) {
	s, reopen := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	commit(t, s, at, Value(1, 1, `{}`))
	at.Revision = 2
	commit(t, s, at, Tombstone(1, 2), Tombstone(9, 2))
	s = reopen()
	want(t, s, Tombstone(1, 2))
	if s.Root() != (store.Digest{}) {
		t.Error("a tombstone counts in the digest")
	}
	if _, ok, _ := s.Get(Key(9)); ok {
		t.Error("a tombstone for what was never there is kept")
	}
	at.Revision = 3
	commit(t, s, at, Value(1, 3, `{"again":true}`))
	want(t, s, Value(1, 3, `{"again":true}`))
}

func removals(t *testing.T, open opener) {
	s, reopen := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	for i := range int(store.MaxRemoval) + 1 {
		commit(t, s, at, Value(i, 1, `{}`))
	}
	at.Revision = 2
	for i := range int(store.MaxRemoval) + 1 {
		e := Tombstone(i, 2)
		e.Removal, e.Intended = store.Removal(i), i%2 == 0
		commit(t, s, at, e)
	}
	s = reopen()
	for i := range int(store.MaxRemoval) + 1 {
		e := Tombstone(i, 2)
		e.Removal, e.Intended = store.Removal(i), i%2 == 0
		want(t, s, e)
	}
	at.Revision = 3
	other := Tombstone(0, 3)
	other.Removal = store.RemoveOrphan
	commit(t, s, at, other)
	want(t, s, other)
	older := Tombstone(0, 2)
	commit(t, s, at, older)
	want(t, s, other)
}

func keepsRemoved(t *testing.T, open opener) {
	s, reopen := open(t, Options{KeepRemoved: true})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	commit(t, s, at, Value(1, 1, `{"a":1}`))
	for _, removal := range []store.Removal{store.RemoveDelete, store.RemoveOrphan} {
		at.Revision++
		e := Tombstone(1, at.Revision)
		e.Removal = removal
		commit(t, s, at, e)
	}
	s = reopen()
	e := Tombstone(1, 3)
	e.Removal, e.Body = store.RemoveOrphan, []byte(`{"a":1}`)
	want(t, s, e)
	if s.Root() != (store.Digest{}) {
		t.Error("what a tombstone removed counts in the digest")
	}
	at.Revision = 4
	commit(t, s, at, Value(1, 4, `{"a":2}`))
	want(t, s, Value(1, 4, `{"a":2}`))
}

func dropsRemoved(t *testing.T, open opener) {
	s, reopen := open(t, Options{DropRemoved: true})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	commit(t, s, at, Value(1, 1, `{"a":1}`), Value(2, 1, `{"a":2}`))
	at.Revision = 2
	commit(t, s, at, Tombstone(1, 2), Tombstone(3, 2))
	for range 2 {
		for _, i := range []int{1, 3} {
			if e, ok, err := s.Get(Key(i)); ok || err != nil {
				t.Errorf("key %d is %+v, %v", i, e, err)
			}
		}
		want(t, s, Value(2, 1, `{"a":2}`))
		s = reopen()
	}
	// In one batch, too, it may go and come.
	at.Revision = 4
	commit(t, s, at, Value(1, 3, `{"a":3}`), Tombstone(2, 3), Value(2, 4, `{"a":4}`),
		Tombstone(1, 4))
	want(t, s, Value(2, 4, `{"a":4}`))
	if e, ok, _ := s.Get(Key(1)); ok {
		t.Errorf("key 1 is %+v", e)
	}
	var root store.Digest
	if root.Add(Key(2), Value(2, 4, `{"a":4}`).Hash); s.Root() != root {
		t.Error("what is gone counts in the digest")
	}
}

func olderChangesNothing(t *testing.T, open opener) {
	s, _ := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 5}
	commit(t, s, at, Value(1, 5, `{"new":1}`))
	root := s.Root()
	commit(t, s, at, Value(1, 4, `{"old":1}`), Tombstone(1, 3), Value(1, 5, `{"new":1}`))
	want(t, s, Value(1, 5, `{"new":1}`))
	if s.Root() != root {
		t.Error("the digest has changed")
	}
	commit(t, s, at, Value(1, 5, `{"second step of one revision":1}`))
	want(t, s, Value(1, 5, `{"second step of one revision":1}`))
}

func regressionIsRefused(t *testing.T, open opener) {
	s, reopen := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 5}
	commit(t, s, at, Value(1, 5, `{}`))
	s = reopen()
	for _, bad := range []store.Position{{Incarnation: at.Incarnation, Revision: 4},
		{Incarnation: store.NewIncarnation(), Revision: 9}} {
		if err := s.Admit(bad); !errors.Is(err, store.ErrRegressed) {
			t.Errorf("admit %s: %v", bad, err)
		}
		b := store.Batch{Entries: []store.Entry{Tombstone(1, 9)}, Through: bad}
		if err := s.Commit(context.Background(), b); !errors.Is(err, store.ErrRegressed) {
			t.Errorf("commit %s: %v", bad, err)
		}
	}
	want(t, s, Value(1, 5, `{}`))
	if s.Position() != at {
		t.Errorf("position %s", s.Position())
	}
}

func newIncarnationAccepted(t *testing.T, open opener) {
	s, reopen := open(t, Options{AcceptNewIncarnation: true})
	commit(t, s, store.Position{Incarnation: store.NewIncarnation(), Revision: 500},
		Value(1, 500, `{"a":1}`), Value(2, 400, `{"b":1}`))
	next := store.Position{Incarnation: store.NewIncarnation(), Revision: store.Comparing}
	commit(t, s, next, Value(1, 3, `{"a":2}`))
	s = reopen()
	want(t, s, Value(1, 3, `{"a":2}`))
	next.Revision = 4
	commit(t, s, next, Tombstone(2, 4), Value(1, 2, `{"older":true}`))
	want(t, s, Tombstone(2, 4))
	want(t, s, Value(1, 3, `{"a":2}`))
}

// accepted: what a person has accepted goes on from the next comparison, and older revisions count
// again.
func accepted(t *testing.T, open opener) {
	s, reopen := open(t, Options{})
	commit(t, s, store.Position{Incarnation: store.NewIncarnation(), Era: 1, Revision: 100},
		Value(1, 100, `{"a":1}`), Value(2, 90, `{}`))
	for _, next := range []store.Position{{Incarnation: store.NewIncarnation(), Era: 2,
		Revision: 40}, {Incarnation: s.Position().Incarnation, Era: 3, Revision: 5}} {
		if err := s.Accept(next); err != nil {
			t.Fatal(err)
		}
		s = reopen()
		if at := (store.Position{Incarnation: next.Incarnation, Era: next.Era,
			Revision: store.Comparing}); s.Position() != at {
			t.Fatalf("position %+v after an accept, want %+v", s.Position(), at)
		}
		if err := s.Admit(next); err != nil {
			t.Fatal(err)
		}
		commit(t, s, next, Value(1, next.Revision, `{"a":2}`))
		want(t, s, Value(1, next.Revision, `{"a":2}`))
		want(t, s, Value(2, 90, `{}`))
	}
}

// random compares a Sink with a plain map over many commits: values, positions and digests at all
// three levels.
func random(t *testing.T, open opener) {
	r := rand.New(rand.NewPCG(1, 2))
	s, reopen := open(t, Options{})
	at := store.Position{Incarnation: store.NewIncarnation(), Era: store.NewEra()}
	live := map[store.Key]store.Hash{}
	for range 60 {
		at.Revision++
		var entries []store.Entry
		for range r.IntN(20) {
			i := r.IntN(200)
			if r.IntN(4) == 0 {
				entries = append(entries, Tombstone(i, at.Revision))
				delete(live, Key(i))
				continue
			}
			e := Value(i, at.Revision, fmt.Sprintf(`{"v":%d}`, r.IntN(5)))
			entries = append(entries, e)
			live[e.Key] = e.Hash
		}
		commit(t, s, at, entries...)
		if r.IntN(10) == 0 {
			s = reopen()
		}
		if s.Position() != at {
			t.Fatalf("position %s, want %s", s.Position(), at)
		}
		checkDigests(t, s, live)
	}
}

func checkDigests(t *testing.T, s Sink, live map[store.Key]store.Hash) {
	t.Helper()
	var root store.Digest
	got := map[store.Key]store.Hash{}
	outer, err := s.Outer()
	if err != nil {
		t.Fatal(err)
	}
	for o := range outer {
		root.Merge(outer[o])
		inner, err := s.Inner(o)
		if err != nil {
			t.Fatal(err)
		}
		var sum store.Digest
		for in := range inner {
			sum.Merge(inner[in])
			if inner[in] == (store.Digest{}) {
				continue
			}
			members, err := s.Members(o, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members {
				got[m.Key] = m.Hash
			}
		}
		if sum != outer[o] {
			t.Fatalf("outer bucket %d is not the sum of its inner ones", o)
		}
	}
	if root != s.Root() {
		t.Fatal("the root is not the sum of the outer buckets")
	}
	if !maps.Equal(got, live) {
		t.Fatalf("%d members, want %d, or they differ", len(got), len(live))
	}
}
