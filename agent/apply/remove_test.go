package apply

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

type noDisk struct{}

func (noDisk) Piggyback(func() bolt.Pending)                      {}
func (noDisk) Commit() error                                      { return nil }
func (noDisk) Each(func(store.Key, inventory.Record) error) error { return nil }

type noReports struct{}

func (noReports) Applied(store.Key, inventory.Record, *target.Object) {}
func (noReports) Refused(store.Key, string, store.ReportError)        {}
func (noReports) Removing(store.Key)                                  {}
func (noReports) Removed(store.Key)                                   {}
func (noReports) Version(store.Key, string) string                    { return "" }

// nothingApplied is the inventory of a target that has nothing yet.
func nothingApplied(t *testing.T) *inventory.Inventory {
	known, err := inventory.Open(noDisk{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// Nothing is remembered of an object that is removed, whatever others had done to it: names come
// and go for years.
func TestNothingIsLeftOfWhatIsRemoved(t *testing.T) {
	known := nothingApplied(t)
	a := New(Config{
		Inventory: known, Reports: noReports{}, Variants: variants.New(variants.Config{}),
		Log: slog.New(slog.DiscardHandler),
	})
	k := key("configmaps", "n", "a")
	known.Put(k, inventory.Record{UID: "1"})
	a.drifts.record(k, 7)
	a.drifts.handle(k, 7)
	a.pendingDeletes.begin(k, "1")
	a.conflicts.wrote(k)
	a.doubt(k, target.Applying{UID: "1", ResourceVersion: "5"})
	a.tracks.change(k, func(is *tracked) { is.recheck, is.stopped = true, time.Now() })
	if err := a.finish(t.Context(), store.Entry{Key: k, Tombstone: true}, "deleted"); err != nil {
		t.Fatal(err)
	}
	_, recorded := known.Get(k)
	if recorded || a.tracks.rows.Len() != 0 {
		t.Errorf("record: %t, tracked: %+v", recorded, a.tracks.of(k))
	}
}

// wanted is a desired copy in which everything is desired.
type wanted struct{ Desired }

func (wanted) Get(k store.Key) (store.Entry, bool, error) {
	return store.Entry{Key: k, Hash: store.HashBody(1, nil)}, true, nil
}

// What is desired again by the time that its deletion would be asked for is not deleted.
func TestWhatIsDesiredAgainIsNotDeleted(t *testing.T) {
	a := New(Config{
		Desired: wanted{}, Reports: noReports{}, Variants: variants.New(variants.Config{}),
		Log: slog.New(slog.DiscardHandler),
	})
	k := key("configmaps", "n", "a")
	gone, err := a.delete(
		t.Context(),
		nil,
		target.Resource{},
		store.Entry{Key: k, Tombstone: true},
		k,
		target.Deletion{UID: "1"},
	)
	var changed *changedError
	if gone || !errors.As(err, &changed) || a.tracks.of(k).deleted != "" {
		t.Errorf("gone: %t, %v; its deletion is awaited: %t", gone, err, a.tracks.of(k).deleted != "")
	}
}
