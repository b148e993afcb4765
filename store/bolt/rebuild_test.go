package bolt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// filled makes a file with 300 values, of which some were changed and some removed, and 300
// records.
func filled(t *testing.T, path string) (map[store.Key]store.Entry, store.Incarnation) {
	t.Helper()
	f := open(t, path, bolt.Options{})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	want := map[store.Key]store.Entry{}
	for revision := int64(1); revision <= 3; revision++ {
		var entries []store.Entry
		for n := 0; n < 300; n += int(revision) {
			e := storetest.Value(n, revision, fmt.Sprintf(`{"n":%d,"revision":%d,"text":"%s"}`, n,
				revision, strings.Repeat("abc", n)))
			entries, want[e.Key] = append(entries, e), e
		}
		commit(t, s, i, revision, entries...)
	}
	records := map[store.Key]bolt.Record{}
	for k, e := range want {
		records[k] = bolt.Record{UID: "uid-" + k.Name, Applied: e.Hash}
	}
	f.Inventory().Piggyback(func() bolt.Pending { return bolt.Pending{Puts: records} })
	if err := f.Inventory().Commit(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.MarkCleanShutdown(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return want, i
}

// holds checks that every live entry is one that was written, and returns how many there are with
// their value.
func holds(t *testing.T, s *bolt.Sink, want map[store.Key]store.Entry) (n int) {
	t.Helper()
	var root store.Digest
	err := s.Each(func(e store.Entry) error {
		got, ok, err := s.Get(e.Key)
		if err != nil || !ok {
			return fmt.Errorf("%s: known %t, %w", e.Key, ok, err)
		}
		root.Add(e.Key, e.Hash)
		if e.UnknownBody {
			return nil
		}
		n++
		if string(got.Body) != string(want[e.Key].Body) || got.Tombstone {
			t.Errorf("%s is %.60q", e.Key, got.Body)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if root != s.Root() {
		t.Error("the digest is not that of the entries")
	}
	return n
}

// Whatever is done to the file, it is noticed before anything wrong is believed, or it does not
// matter.
func TestDamageIsRepaired(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	want, incarnation := filled(t, whole)
	image, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, mended, kept, most := 0, 0, 0, 0
	for n := range 120 {
		image := slices.Clone(image)
		random := rand.New(rand.NewPCG(uint64(n), 1))
		switch n % 4 {
		case 0:
			for range 1 + random.IntN(3) {
				image[random.IntN(len(image))] ^= 1 << random.IntN(8)
			}
		case 1:
			at := random.IntN(len(image) - 4096)
			for i := range 1 + random.IntN(4096) {
				image[at+i] = byte(random.Uint32())
			}
		case 2:
			image = image[:random.IntN(len(image))]
		case 3: // the last writes of a power loss: some pages have their old content, here none
			for page := range len(image) / 4096 {
				if random.IntN(8) == 0 {
					clear(image[page*4096 : (page+1)*4096])
				}
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		f, r, err := bolt.OpenOrRebuild(path, bolt.Options{})
		// a bit of the version, or of the dictionary's name
		if errors.Is(err, bolt.ErrNewerFormat) {
			continue
		}
		if err != nil {
			t.Fatalf("damage %d: %v", n, err)
		}
		s := sink(t, f, bolt.SinkOptions{})
		if !readable(s) {
			select {
			case <-f.Damaged():
			default:
				t.Errorf("damage %d: a value that cannot be read is not told", n)
			}
			// What only reading finds is mended by opening again, without a rebuild.
			f.Close()
			if f, r, err = bolt.OpenOrRebuild(path, bolt.Options{}); err != nil || r.Aside != "" {
				t.Fatalf("damage %d: %+v %v", n, r, err)
			}
			s = sink(t, f, bolt.SinkOptions{})
			mended++
		}
		entries := holds(t, s, want)
		if r.Aside != "" {
			rebuilt++
			kept += entries
			most += len(want)
			if at := s.Position(); at.Incarnation == incarnation && at.Revision != store.Comparing {
				t.Errorf("damage %d: the new copy is at %s, as if nothing had been lost", n, at)
			}
		}
		if found, err := f.Check(); err != nil || len(found) > 0 {
			t.Errorf("damage %d: after opening there is still something wrong: %v %v", n, found,
				err)
		}
		f.Close()
	}
	if rebuilt < 40 || kept < most/4 {
		t.Errorf("%d of 120 files were rebuilt, with %d of %d entries", rebuilt, kept, most)
	}
	t.Logf("%d of 120 files were rebuilt, with %d of %d entries; %d were mended", rebuilt, kept,
		most, mended)
}

func readable(s *bolt.Sink) bool {
	return s.Each(func(e store.Entry) error {
		_, _, err := s.Get(e.Key)
		return err
	}) == nil
}

func TestCorruptFilesAreKeptButNotForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for range 5 {
		if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)),
			0o600); err != nil {
			t.Fatal(err)
		}
		f, r, err := bolt.OpenOrRebuild(path, bolt.Options{})
		if err != nil || r.Aside == "" {
			t.Fatalf("%+v, %v", r, err)
		}
		f.Close()
	}
	if all, _ := filepath.Glob(path + ".corrupt-*"); len(all) != 3 {
		t.Errorf("kept: %v", all)
	}
}

func TestFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := open(t, path, bolt.Options{})
	s, i := sink(t, f, bolt.SinkOptions{}), store.NewIncarnation()
	commit(t, s, i, 1, storetest.Value(1, 1, `{}`))
	known, lost := storetest.Key(1), storetest.Key(2)
	for want, keys := range [][]store.Key{{known}, {known, lost}} {
		if n, err := s.AddUnknown(keys...); n != want || err != nil {
			t.Errorf("%v: %d new, %v", keys, n, err)
		}
	}
	cost := f.Cost()
	if n, err := s.AddUnknown(known, lost); n != 0 || err != nil || f.Cost() != cost {
		t.Errorf("again: %d new, %v, or something was written", n, err)
	}
	f.Close()
	s = sink(t, open(t, path, bolt.Options{}), bolt.SinkOptions{})
	if e, ok, err := s.Get(lost); !ok || err != nil || !e.UnknownBody || s.Len() != 2 {
		t.Errorf("%+v, known %t, %v, %d live", e, ok, err, s.Len())
	}
	commit(t, s, i, 2, storetest.Tombstone(2, 2))
	if e, ok, _ := s.Get(lost); !ok || !e.Tombstone || e.UnknownBody || s.Len() != 1 {
		t.Errorf("after a tombstone: %+v, known %t", e, ok)
	}
	if n, err := s.AddUnknown(lost); n != 0 || err != nil {
		t.Errorf("a tombstone that is not carried out yet was taken over: %d, %v", n, err)
	}
}

func TestTombstoneOfWhatTheConsumerHolds(t *testing.T) {
	s := sink(t, open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{}), bolt.SinkOptions{
		Holds: func(k store.Key) bool { return k == storetest.Key(1) }})
	commit(t, s, store.NewIncarnation(), 1, storetest.Tombstone(1, 1), storetest.Tombstone(2, 1))
	if e, ok, _ := s.Get(storetest.Key(1)); !ok || !e.Tombstone {
		t.Error("the tombstone of what the consumer holds was dropped")
	}
	if _, ok, _ := s.Get(storetest.Key(2)); ok {
		t.Error("the tombstone of what nobody has was stored")
	}
}

// What is written meanwhile is no damage.
func TestCheckWhileOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f := open(t, path, bolt.Options{})
	s, incarnation := reportedBy(t, f, 0, bolt.SinkOptions{}), store.NewIncarnation()
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		for revision := int64(1); ; revision++ {
			select {
			case <-stop:
				return
			default:
				commit(t, s, incarnation, revision, storetest.Value(int(revision%50), revision, "x"))
			}
		}
	})
	for range 20 {
		if found, err := f.Check(); err != nil || len(found) > 0 {
			t.Errorf("%v %v", found, err)
			break
		}
	}
	close(stop)
	writing.Wait()
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	filled(t, path)
	inspect := func(path string) []bolt.Finding {
		f, err := bolt.Open(path, bolt.Options{Inspect: true})
		if err != nil {
			return []bolt.Finding{{Where: "open", What: err.Error()}}
		}
		defer f.Close()
		findings, err := f.Check()
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if found := inspect(path); len(found) != 0 {
		t.Errorf("a whole file: %v", found)
	}
	if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
		t.Error("looking changed the file")
	}
	// in no compressed body, but in the smallest ones, which are not compressed
	at := strings.Index(string(before), "abcabc")
	if at < 0 {
		at = strings.Index(string(before), "web-7") + 40
	}
	damaged := slices.Clone(before)
	damaged[at] ^= 1
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := inspect(path); len(found) == 0 {
		t.Error("a damaged value was not found")
	}
}

func TestUnclean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for n, want := range []struct{ unclean, settle bool }{{true, false}, {true, true},
		{false, false}, {true, true}, {false, true}} {
		f := open(t, path, bolt.Options{})
		if f.Unclean() != want.unclean {
			t.Errorf("life %d: unclean %t", n, f.Unclean())
		}
		if want.settle {
			if err := f.MarkCleanShutdown(); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
}
