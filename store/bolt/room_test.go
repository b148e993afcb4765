package bolt_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// incompressible is a value of about so many bytes that does not compress.
func incompressible(i, bytes int) string {
	r, out := rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}), make([]byte, bytes)
	_, _ = r.Read(out) // it never fails
	return string(out)
}

// What does not fit is not kept, but known: the copy equals its sender, so nothing comes again
// until it is wanted and there is room.
func TestRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	f, room := open(t, path, bolt.Options{}), int64(9_500)
	options := bolt.SinkOptions{DropRemoved: true, Room: func() int64 { return room }}
	s, like, at := sink(t, f, options), storetest.NewMemory(),
		store.Position{Incarnation: store.NewIncarnation()}
	commit := func(entries ...store.Entry) {
		t.Helper()
		at.Revision++
		b := store.Batch{Entries: entries, Through: at}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := like.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, live, unkept int) {
		t.Helper()
		if s.Len() != live || s.UnknownBodies() != unkept || s.Size() > room || s.Root() != like.Root() {
			t.Errorf("%s: %d entries, %d of them without a value, in %d bytes; equal to the "+
				"sender: %t", what, s.Len(), s.UnknownBodies(), s.Size(), s.Root() == like.Root())
		}
		if found, err := f.Check(); err != nil || len(found) > 0 {
			t.Errorf("%s: check: %v %v", what, found, err)
		}
	}
	value := func(i int) store.Entry {
		return storetest.Value(i, int64(i+1),
			incompressible(i, 1000))
	}
	for i := range 12 {
		commit(value(i))
	}
	is("12 of which 9 fit", 12, 3)
	if e, ok, err := s.Get(storetest.Key(11)); !ok || err != nil || !e.UnknownBody || e.Body != nil {
		t.Errorf("one that does not fit: %+v, %t, %v", e, ok, err)
	}
	commit(value(10))
	is("one comes again", 12, 3)
	commit(storetest.Tombstone(11, at.Revision+1), storetest.Tombstone(0, at.Revision+1),
		storetest.Tombstone(1, at.Revision+1))
	is("one that was not kept and two others are gone", 9, 2)
	commit(value(10))
	is("one comes again, which it has", 9, 2)
	commit(storetest.Value(9, at.Revision+1, incompressible(99, 1000)))
	is("one that was not kept is another now, and fits", 9, 1)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, path, bolt.Options{})
	s = sink(t, f, options)
	is("opened again", 9, 1)
	if err := s.RefetchUnknown(); err != nil {
		t.Fatal(err)
	}
	if s.Root() == like.Root() || s.UnknownBodies() != 1 || s.Position() != at {
		t.Errorf("what is wanted is not missed: %d, %s", s.UnknownBodies(), s.Position())
	}
	commit(value(10))
	is("what was wanted has come", 9, 0)
	room = 100
	commit(storetest.Value(2, at.Revision+1, incompressible(2, 1001)))
	if e, ok, _ := s.Get(storetest.Key(2)); !ok || !e.UnknownBody {
		t.Error("what has no room any more when it changes is kept")
	}
}

// A file from before sizes were counted is measured when it is opened.
func TestSizesOfAnOlderFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	f := open(t, path, bolt.Options{})
	s := sink(t, f, bolt.SinkOptions{})
	at := store.Position{Incarnation: store.NewIncarnation(), Era: 5, Revision: 1}
	entries := []store.Entry{storetest.Value(1, 1, incompressible(1, 500)),
		storetest.Value(2, 1, incompressible(2, 700))}
	if err := s.Commit(t.Context(), store.Batch{Entries: entries, Through: at}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.AddUnknown(storetest.Key(3)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	size := s.Size()
	if err := s.ForgetSizes(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, path, bolt.Options{})
	if s = sink(t, f, bolt.SinkOptions{}); s.Size() != size || size < 1200 || s.UnknownBodies() != 1 ||
		s.Len() != 3 || s.Position() != at {
		t.Errorf("%d bytes, before %d; %d of %d without a value; at %s", s.Size(), size, s.UnknownBodies(),
			s.Len(), s.Position())
	}
	if found, err := f.Check(); err != nil || len(found) > 0 {
		t.Errorf("check: %v %v", found, err)
	}
}
