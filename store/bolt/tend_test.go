package bolt_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

func random(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(rand.IntN(26))
	}
	return string(b)
}

// A file that is mostly free is compacted while it is in use, and nobody notices.
func TestCompactionWhileInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := open(t, path, bolt.Options{})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	var all, tombstones []store.Entry
	for n := range 2000 {
		all = append(all, storetest.Value(n, 1, random(4000)))
		if n >= 100 {
			tombstones = append(tombstones, storetest.Tombstone(n, 2))
		}
	}
	commit(t, s, i, 1, all...)
	commit(t, s, i, 2, tombstones...)
	if err := s.Forget(tombstones...); err != nil {
		t.Fatal(err)
	}
	big, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var users sync.WaitGroup
	users.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			e := all[n%100]
			if got, ok, err := s.Get(e.Key); err != nil || !ok || n < 100 &&
				string(got.Body) == "" {
				t.Errorf("read while compacting: %t, %v", ok, err)
				return
			}
		}
	})
	revision := int64(2)
	users.Go(func() {
		for ctx.Err() == nil {
			revision++
			e := storetest.Value(int(revision%100), revision,
				fmt.Sprintf(`{"revision":%d}`, revision))
			if err := s.Commit(context.Background(),
				store.Batch{Entries: []store.Entry{e},
					Through: store.Position{Incarnation: i, Revision: revision}}); err != nil {
				t.Errorf("write while compacting: %v", err)
				return
			}
		}
	})
	for range 3 {
		if err := f.MaintainNow(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	users.Wait()
	small, err := os.Stat(path)
	if err != nil || small.Size() > big.Size()/4 {
		t.Errorf("%d bytes, %d before, %v", small.Size(), big.Size(), err)
	}
	if found, err := f.Check(); err != nil || len(found) > 0 || s.Len() != 100 {
		t.Errorf("%d entries, %v, %v", s.Len(), found, err)
	}
	root, at := s.Root(), s.Position()
	f.Close()
	s = sink(t, open(t, path, bolt.Options{}), bolt.SinkOptions{})
	if s.Root() != root || s.Position() != at || at.Revision != revision {
		t.Errorf("after a restart at %s, want %s and revision %d", s.Position(), at, revision)
	}
	if _, err := os.Stat(path + ".compact"); !os.IsNotExist(err) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// What is not written costs nothing, and a change of one object costs two syncs and some pages.
func TestCostOfWriting(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	var all []store.Entry
	for n := range 300 {
		all = append(all, storetest.Value(n, 1, `{"text":"`+random(600)+`"}`))
	}
	commit(t, s, i, 1, all...)
	before := f.Cost()
	for range 100 {
		if err := f.MaintainNow(); err != nil {
			t.Fatal(err)
		}
	}
	if after := f.Cost(); after != before {
		t.Errorf("tending what is not written costs %+v, before %+v", after, before)
	}
	const changes = 100
	for n := range int64(changes) {
		commit(t, s, i, n+2, storetest.Value(7, n+2, `{"text":"`+random(600)+`"}`))
	}
	cost := f.Cost()
	if syncs := cost.Syncs - before.Syncs; syncs != 2*changes {
		t.Errorf("%d syncs for %d changes", syncs, changes)
	}
	if bytes := (cost.Bytes - before.Bytes) / changes; bytes > 40<<10 {
		t.Errorf("%d bytes for one change", bytes)
	}
}
