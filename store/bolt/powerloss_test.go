package bolt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// A power cut in a commit leaves the pages of the commit before, and of the new ones some, whole or in part. The page
// that makes the new ones count (meta) is written when they are synced, and may be torn itself. The file opens as of
// the commit before, or of the last one where its meta page is whole, and nothing of it is put aside. Where a disk
// loses a meta page as a whole, which a cut does not do to one that changes in one sector, the file is built anew with
// all that it had.
func TestPowerLoss(t *testing.T) {
	const pageSize, sector = 4096, 512
	path := filepath.Join(t.TempDir(), "agent.db")
	f := open(t, path, bolt.Options{})
	s := sink(t, f, bolt.SinkOptions{})
	at := store.Position{Incarnation: store.NewIncarnation()}
	var before, after []byte
	for at.Revision < 8 {
		at.Revision++
		before = after
		if err := s.Commit(t.Context(), store.Batch{Entries: entriesAt(at.Revision), Through: at}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		after = data
	}
	if len(before) != len(after) {
		t.Fatalf("the file has grown from %d bytes to %d: choose another commit", len(before), len(after))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var data, meta []int // pages that the last commit has written
	for page := range len(after) / pageSize {
		from := page * pageSize
		switch same := bytes.Equal(before[from:from+pageSize], after[from:from+pageSize]); {
		case same:
		case page < 2:
			meta = append(meta, from)
		default:
			data = append(data, from)
		}
	}
	if len(meta) != 1 || len(data) < 2 {
		t.Fatalf("the last commit has written the meta pages %v and the pages %v", meta, data)
	}
	// with is the file as it was, with n bytes of each of some pages as they became.
	with := func(n int, pages ...int) []byte {
		torn := slices.Clone(before)
		for _, from := range pages {
			copy(torn[from:from+n], after[from:])
		}
		return torn
	}
	last := at.Revision
	for i, from := range data {
		afterPowerLoss(t, fmt.Sprintf("%d pages", i), with(pageSize, data[:i]...), last-1)
		afterPowerLoss(t, fmt.Sprintf("page %d alone", i), with(pageSize, from), last-1)
		afterPowerLoss(t, fmt.Sprintf("a sector of page %d", i), with(sector, from), last-1)
	}
	afterPowerLoss(t, "all but the meta page", with(pageSize, data...), last-1)
	for n := 17; n < 80; n += 9 { // bbolt: a page header of 16 bytes, and 64 of meta with their checksum at its end
		torn := with(pageSize, data...)
		copy(torn[meta[0]:meta[0]+n], after[meta[0]:])
		afterPowerLoss(t, fmt.Sprintf("%d bytes of the meta page", n), torn, last-1)
	}
	for name, fill := range map[string]byte{"zeros": 0, "ones": 0xff} {
		torn := with(pageSize, data...)
		copy(torn[meta[0]:], bytes.Repeat([]byte{fill}, pageSize))
		lost := filepath.Join(t.TempDir(), "agent.db")
		if err := os.WriteFile(lost, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		f, rebuilt, err := bolt.OpenOrRebuild(lost, bolt.Options{})
		if err != nil || rebuilt.Aside == "" || rebuilt.Kept != perCommit {
			t.Fatalf("a meta page of %s: kept %d, %v, %v", name, rebuilt.Kept, rebuilt.Why, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	afterPowerLoss(t, "all", with(pageSize, append(data, meta[0])...), last)
	// Room for the next commit that was never written, or was not written to the end.
	afterPowerLoss(t, "a longer file", append(slices.Clone(after), make([]byte, 3*pageSize+sector)...), last)
}

// afterPowerLoss opens what a disk has, which is as of a revision, and goes on.
func afterPowerLoss(t *testing.T, name string, content []byte, revision int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, rebuilt, err := bolt.OpenOrRebuild(path, bolt.Options{})
	if err != nil || rebuilt.Aside != "" {
		t.Errorf("%s: %v, put aside because %v", name, err, rebuilt.Why)
		return
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}()
	s := sink(t, f, bolt.SinkOptions{})
	at := s.Position()
	if at.Revision != revision {
		t.Errorf("%s: the file is as of revision %d, want %d", name, at.Revision, revision)
		return
	}
	for next := range 2 {
		for _, want := range entriesAt(at.Revision) {
			got, ok, err := s.Get(want.Key)
			if !ok || err != nil || got.Revision != at.Revision || string(got.Body) != string(want.Body) {
				t.Errorf("%s, %d commits later: %s is %+v, %t, %v", name, next, want.Key, got, ok, err)
			}
		}
		at.Revision++
		if err := s.Commit(t.Context(), store.Batch{Entries: entriesAt(at.Revision), Through: at}); err != nil {
			t.Errorf("%s: the next commit: %v", name, err)
			return
		}
	}
}
