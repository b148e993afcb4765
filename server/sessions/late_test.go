package sessions

import (
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// A target that is always a little behind is not late. One that is stuck is, lateAfter after the change
// that it lacks, whatever is changed since.
func TestLate(t *testing.T) {
	feed := store.NewFeed(store.NewIncarnation(), 0, nil)
	s := &session{feed: feed}
	now, revision := time.Now(), int64(1)
	glance := func(changes bool, acked int64) (late bool) {
		now = now.Add(glance)
		if changes {
			revision++
			feed.Apply(revision, store.Change{Key: store.Key{Space: "s", Resource: "configmaps", Name: "one"},
				Hash: store.Hash{byte(revision)}, Generation: revision})
		}
		s.acked = store.Position{Incarnation: feed.Head().Incarnation, Revision: acked}
		s.checkDelivery(now)
		return s.acked.Revision < s.due
	}
	for range 60 {
		if glance(true, revision) {
			t.Fatalf("a glance behind, at revision %d of %d, and it is late", s.acked.Revision, revision)
		}
	}
	glance(false, revision)
	for i := range 60 { // nothing changes, and all is there
		if glance(false, revision) {
			t.Fatalf("all is there for %d glances, and it is late", i)
		}
	}
	stuck := revision
	for i := range 30 {
		want := time.Duration(i)*time.Second >= lateAfter // the first glance sees the change
		if is := glance(true, stuck); is != want {
			t.Errorf("stuck for %d s, and late is %t", i, is)
		}
	}
	if glance(false, revision) {
		t.Error("all has arrived, and it is late")
	}
}
