package server

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// A target that reports without end is stopped; others go on, and so does it with what it may. What it takes back leaves nothing behind.
func TestInboxesAreBounded(t *testing.T) {
	placed := map[string]int{"busy": 1}
	boxes := newInboxes(filepath.Join(t.TempDir(), "reports.db"), func(string, []store.Key) {}, func(target string) int { return placed[target] }, slog.New(slog.DiscardHandler))
	defer boxes.Close()
	at := store.Position{Incarnation: store.NewIncarnation()}
	commit := func(target string, entries ...store.Entry) error {
		t.Helper()
		box, err := boxes.Open(target)
		if err != nil {
			t.Fatal(err)
		}
		at.Revision++
		return box.Commit(t.Context(), store.Batch{Entries: entries, Through: at})
	}
	values := func(from, to int) (out []store.Entry) {
		for i := from; i < to; i++ {
			out = append(out, storetest.Value(i, at.Revision+1, `{}`))
		}
		return out
	}
	want := func(what string, err error, refused bool) {
		t.Helper()
		if errors.Is(err, errTooManyReports) != refused || err != nil && !refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := 0; n < mostReports; n += 5000 {
		want("what it may", commit("rogue", values(n, n+5000)...), false)
	}
	want("one more", commit("rogue", values(mostReports, mostReports+1)...), true)
	want("what is there, again", commit("rogue", values(0, 5000)...), false)
	want("one for one", commit("rogue", append(values(mostReports, mostReports+1), storetest.Tombstone(7, at.Revision+1))...), false)
	want("one more", commit("rogue", values(mostReports+1, mostReports+2)...), true)
	if n := boxes.Len("rogue"); n != mostReports {
		t.Errorf("%d reports", n)
	}
	if e, ok, err := boxes.open["rogue"].Get(storetest.Key(7)); ok || err != nil {
		t.Errorf("what is taken back is %+v, %v", e, err)
	}
	want("another target", commit("honest", values(0, 5)...), false)
	for n := 0; n < mostReports; n += 5000 {
		want("what a busy one may", commit("busy", values(n, n+5000)...), false)
	}
	want("what a busy one may", commit("busy", values(mostReports, mostReports+mostReportsPerObject)...), false)
	want("one more of a busy one", commit("busy", values(mostReports+mostReportsPerObject, mostReports+mostReportsPerObject+1)...), true)
	var gone []store.Entry
	for i := range 100 {
		gone = append(gone, storetest.Tombstone(100+i, at.Revision+1))
	}
	want("what is taken back", commit("rogue", gone...), false)
	want("and comes anew", commit("rogue", values(100, 200)...), false)
}
