package bolt

import (
	"path/filepath"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// What is written along is there after every commit, and stays when there is nothing new.
func TestAlong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var value []byte
	f.Piggyback("time", func() []byte { return value })
	s, err := f.Sink("desired", SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	incarnation := store.NewIncarnation()
	for i, text := range []string{"", "one", "", "two"} {
		value = []byte(text)
		if text == "" {
			value = nil
		}
		err := s.Commit(t.Context(), store.Batch{Entries: []store.Entry{storetest.Value(i,
			int64(i+1), "{}")}, Through: store.Position{Incarnation: incarnation,
			Revision: int64(i + 1)}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Meta("time"); err != nil || string(got) != []string{"", "one", "one",
			"two"}[i] {
			t.Errorf("commit %d: %q, %v", i, got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := f.Meta("time"); err != nil || string(got) != "two" {
		t.Errorf("after opening again: %q, %v", got, err)
	}
}
