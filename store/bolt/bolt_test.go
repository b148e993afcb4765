package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writeForever(path)
	}
	leak.Main(m)
}

func open(t *testing.T, path string, o bolt.Options) *bolt.File {
	t.Helper()
	f, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func sink(t *testing.T, f *bolt.File, o bolt.SinkOptions) *bolt.Sink {
	t.Helper()
	s, err := f.Sink("desired", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSink(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) (storetest.Sink,
		func() storetest.Sink) {
		path := filepath.Join(t.TempDir(), "agent.db")
		options := bolt.SinkOptions{AcceptNewIncarnation: o.AcceptNewIncarnation,
			KeepRemoved: o.KeepRemoved, DropRemoved: o.DropRemoved}
		f := open(t, path, bolt.Options{})
		return sink(t, f, options), func() storetest.Sink {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			f = open(t, path, bolt.Options{})
			return sink(t, f, options)
		}
	})
}

func TestEachIsInTheOrderOfApplication(t *testing.T) {
	s := sink(t, open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{}), bolt.SinkOptions{})
	keys := []store.Key{
		{Space: "s", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: "a"}, {Space: "s", Resource: "namespaces", Name: "a"},
		{Space: "s", Resource: "configmaps", Namespace: "a", Name: "a"},
		{Space: "s", Resource: "configmaps", Namespace: "a", Name: "gone"},
		{Space: "s", Resource: "namespaces", Name: "gone"},
		{Space: "s", Group: "apiextensions.k8s.io",
			Resource: "customresourcedefinitions", Name: "gone"},
	}
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	for revision, gone := range []bool{false, true} {
		at.Revision = int64(revision) + 1
		var entries []store.Entry
		for _, k := range keys {
			e := store.Entry{Key: k, Revision: at.Revision, Body: []byte("{}"),
				Hash: store.HashBody(0, []byte("{}"))}
			if gone && k.Name != "gone" {
				continue
			} else if gone {
				e = store.Entry{Key: k, Revision: at.Revision, Tombstone: true}
			}
			entries = append(entries, e)
		}
		if err := s.Commit(context.Background(), store.Batch{Entries: entries,
			Through: at}); err != nil {
			t.Fatal(err)
		}
	}
	var got []store.Key
	if err := s.Each(func(e store.Entry) error {
		got = append(got,
			e.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, keys) {
		t.Errorf("got %v\nwant %v", got, keys)
	}
	if s.Len() != 3 {
		t.Errorf("%d live entries, want 3", s.Len())
	}
}

func TestForgetOnlyThatTombstone(t *testing.T) {
	s := sink(t, open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{}), bolt.SinkOptions{})
	at := store.Position{Incarnation: store.NewIncarnation()}
	for _, e := range []store.Entry{storetest.Value(1, 1, "{}"), storetest.Tombstone(1, 2),
		storetest.Value(1, 3, "{}"), storetest.Tombstone(1, 4)} {
		at.Revision = e.Revision
		if err := s.Commit(context.Background(), store.Batch{Entries: []store.Entry{e},
			Through: at}); err != nil {
			t.Fatal(err)
		}
		if e.Revision == 3 {
			if err := s.Forget(storetest.Tombstone(1, 2)); err != nil {
				t.Fatal(err)
			}
			if _, ok, _ := s.Get(storetest.Key(1)); !ok {
				t.Fatal("a live entry was forgotten")
			}
		}
	}
	for _, step := range []struct {
		revision int64
		known    bool
	}{{2, true}, {4, false}} {
		if err := s.Forget(storetest.Tombstone(1, step.revision)); err != nil {
			t.Fatal(err)
		}
		if _, ok, _ := s.Get(storetest.Key(1)); ok != step.known {
			t.Errorf("after forgetting revision %d: known %t, want %t", step.revision, ok,
				step.known)
		}
	}
}

func TestOnCommitTellsWhatChanged(t *testing.T) {
	var got []store.Key
	s := sink(t, open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{}),
		bolt.SinkOptions{OnCommit: func(keys []store.Key) { got = keys }})
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: 1}
	batch := store.Batch{Entries: []store.Entry{storetest.Value(2, 1, "{}"),
		storetest.Value(1, 1, "{}")}, Through: at}
	for _, want := range [][]store.Key{{storetest.Key(2), storetest.Key(1)}, nil} {
		got = nil
		if err := s.Commit(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
}

func TestInventoryAndMeta(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := open(t, path, bolt.Options{})
	record := bolt.Record{UID: "u1", Applied: store.HashBody(1, nil), Generation: 3,
		TargetGeneration: 4, ResourceVersion: "77", Created: true,
		APIVersion: "apps/v1", Kind: "Deployment", OriginUID: "o1"}
	puts := map[store.Key]bolt.Record{}
	for i := range 300 {
		puts[storetest.Key(i)] = record
	}
	durable := 0
	pending := bolt.Pending{Puts: puts, Durable: func() { durable++ }}
	f.Inventory().Piggyback(func() bolt.Pending { return pending })
	if err := f.Inventory().Commit(); err != nil {
		t.Fatal(err)
	}
	pending = bolt.Pending{Deletes: []store.Key{storetest.Key(7)},
		Durable: func() { durable += 10 }}
	if err := f.SetMeta("clock", []byte("now")); err != nil { // any write takes it along
		t.Fatal(err)
	}
	pending = bolt.Pending{}
	if durable != 11 {
		t.Errorf("told %d to be durable", durable)
	}
	f.Close()
	f = open(t, path, bolt.Options{})
	if r, ok, err := f.Inventory().Get(storetest.Key(8)); !ok || err != nil || r != record {
		t.Errorf("record %+v, known %t, %v", r, ok, err)
	}
	if _, ok, _ := f.Inventory().Get(storetest.Key(7)); ok {
		t.Error("a deleted record is still there")
	}
	if n, err := f.Inventory().Len(); n != 299 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	if v, err := f.Meta("clock"); string(v) != "now" || err != nil {
		t.Errorf("meta %q, %v", v, err)
	}
	if v, err := f.Meta("absent"); v != nil || err != nil {
		t.Errorf("absent meta %q, %v", v, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	open(t, newer, bolt.Options{}).Close()
	db, err := bbolt.Open(newer, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"),
			binary.BigEndian.AppendUint32(nil, bolt.Format+1))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("not a database "), 4000),
		0o600); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(dir, "locked.db")
	open(t, locked, bolt.Options{})
	for path, want := range map[string]error{newer: bolt.ErrNewerFormat, garbage: bolt.ErrCorrupt,
		locked: bolt.ErrLocked} {
		f, err := bolt.Open(path, bolt.Options{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", filepath.Base(path), err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if info, err := os.Stat(locked); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestCompactionKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := open(t, path, bolt.Options{})
	s := sink(t, f, bolt.SinkOptions{})
	at := store.Position{Incarnation: store.NewIncarnation()}
	noise := func(seed int64) string {
		b := make([]byte, 4000)
		for i := range b {
			seed = seed*6364136223846793005 + 1442695040888963407
			b[i] = 'a' + byte(uint64(seed)>>59)
		}
		return string(b)
	}
	var keep store.Entry
	for _, gone := range []bool{false, true} {
		at.Revision++
		var entries, tombstones []store.Entry
		for i := range 3000 {
			e := storetest.Value(i, at.Revision, noise(int64(i)))
			if i == 0 {
				keep = e
			}
			if gone && i > 0 {
				e = storetest.Tombstone(i, at.Revision)
				tombstones = append(tombstones, e)
			}
			entries = append(entries, e)
		}
		if err := s.Commit(context.Background(), store.Batch{Entries: entries,
			Through: at}); err != nil {
			t.Fatal(err)
		}
		if err := s.Forget(tombstones...); err != nil {
			t.Fatal(err)
		}
	}
	root := s.Root()
	f.Close()
	before, _ := os.Stat(path)
	f = open(t, path, bolt.Options{})
	after, _ := os.Stat(path)
	if after.Size() > before.Size()/4 {
		t.Errorf("%d bytes after compaction, %d before", after.Size(), before.Size())
	}
	s = sink(t, f, bolt.SinkOptions{})
	if s.Root() != root || s.Position() != at || s.Len() != 1 {
		t.Errorf("after compaction: %d entries at %s", s.Len(), s.Position())
	}
	if got, ok, err := s.Get(keep.Key); !ok || err != nil || string(got.Body) != string(keep.Body) {
		t.Errorf("the entry that stays: %t, %v", ok, err)
	}
}
