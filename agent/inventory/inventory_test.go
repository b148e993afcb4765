package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// disk counts transactions and may fail.
type disk struct {
	mu      sync.Mutex
	records map[store.Key]Record
	writes  int
	fail    error
}

func (d *disk) Write(puts map[store.Key]Record, deletes ...store.Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.writes++
	maps.Copy(d.records, puts)
	for _, k := range deletes {
		delete(d.records, k)
	}
	return nil
}

func (d *disk) Each(visit func(store.Key, Record) error) error {
	for k, r := range d.records {
		if err := visit(k, r); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) count() (writes, records int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes, len(d.records)
}

func (d *disk) set(fail error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

func key(i int) store.Key {
	return store.Key{Space: "s", Resource: "configmaps", Namespace: "n", Name: fmt.Sprint(i)}
}

func open(t *testing.T, d *disk) (*Inventory, func()) {
	t.Helper()
	i, err := Open(d, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	return i, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestRecordsAreWrittenInGroupsAndNothingWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{records: map[store.Key]Record{}}
		i, stop := open(t, d)
		for n := range 200 {
			i.Put(key(n), Record{UID: fmt.Sprint("u", n)})
		}
		time.Sleep(time.Second)
		if writes, records := d.count(); writes != 1 || records != 200 {
			t.Errorf("%d transactions for %d records", writes, records)
		}
		i.Put(key(1), Record{UID: "u1"}) // as it is
		time.Sleep(time.Hour)
		if writes, _ := d.count(); writes != 1 {
			t.Errorf("%d transactions while nothing changed", writes-1)
		}
		i.Delete(key(1))
		stop()
		if len(d.records) != 199 {
			t.Error("stopping did not write what was left")
		}
		again, err := Open(d, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := again.ByUID("u7"); !ok || k != key(7) {
			t.Errorf("u7 is %s", k)
		}
	})
}

func TestAFailedWriteIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{records: map[store.Key]Record{key(2): {UID: "old"}}, fail: errors.New("disk full")}
		i, stop := open(t, d)
		i.Put(key(1), Record{UID: "u"})
		i.Delete(key(2))
		time.Sleep(5 * time.Second)
		d.set(nil)
		time.Sleep(5 * time.Second)
		stop()
		if _, left := d.records[key(2)]; left || d.records[key(1)].UID != "u" {
			t.Errorf("after the disk is well again: %v", d.records)
		}
	})
}

func TestUIDFollowsTheLastObject(t *testing.T) {
	i, err := Open(&disk{records: map[store.Key]Record{}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	i.Put(key(1), Record{UID: "a"})
	i.Put(key(1), Record{UID: "b"})
	if _, ok := i.ByUID("a"); ok {
		t.Error("an object that was replaced is still found")
	}
	i.Put(key(2), Record{UID: "b"}) // shared: a namespace that two spaces have
	i.Delete(key(1))
	if k, ok := i.ByUID("b"); !ok || k != key(2) {
		t.Error("the other owner of a shared object is forgotten")
	}
}
