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
	"skerry.dev/skerry/store/bolt"
)

// disk counts transactions and may fail.
type disk struct {
	mu      sync.Mutex
	records map[store.Key]Record
	pending func() bolt.Pending
	writes  int
	fail    error
}

func (d *disk) Piggyback(pending func() bolt.Pending) { d.pending = pending }

// Commit is a transaction: the inventory's own, or one of something else.
func (d *disk) Commit() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending()
	if d.fail != nil {
		return d.fail
	}
	d.writes++
	maps.Copy(d.records, p.Puts)
	for _, k := range p.Deletes {
		delete(d.records, k)
	}
	if p.Durable != nil {
		p.Durable()
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

// get returns what is written of a key.
func (d *disk) get(k store.Key) (Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.records[k]
	return r, ok
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
		time.Sleep(longDelay + time.Second)
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
		time.Sleep(2 * longDelay)
		d.set(nil)
		time.Sleep(2 * time.Second)
		one, _ := d.get(key(1))
		if _, left := d.get(key(2)); left || one.UID != "u" {
			t.Errorf("while it goes on: %v, the deleted one is left: %t", one, left)
		}
		stop()
		if _, left := d.records[key(2)]; left || d.records[key(1)].UID != "u" {
			t.Errorf("after the disk is well again: %v", d.records)
		}
	})
}

// What others write takes the records along, so that a change a second costs no transaction of the
// inventory's own.
func TestRecordsGoAlongWithOtherWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{records: map[store.Key]Record{}}
		i, stop := open(t, d)
		for n := range 60 {
			if err := d.Commit(); err != nil { // what is desired changes
				t.Fatal(err)
			}
			i.Put(key(n%3), Record{UID: fmt.Sprint("u", n)})
			time.Sleep(time.Second)
		}
		if writes, records := d.count(); writes != 60 || records != 3 {
			t.Errorf("%d transactions for 60 changes, %d records", writes, records)
		}
		time.Sleep(longDelay + time.Second)
		if writes, _ := d.count(); writes != 61 {
			t.Errorf("%d transactions in the end", writes)
		}
		if r, _ := d.get(key(2)); r.UID != "u59" {
			t.Errorf("the last record is %v", r)
		}
		stop()
	})
}

// That an object has run to its end, or went, is what the target may not tell again.
func TestAnEndIsWrittenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{records: map[store.Key]Record{}}
		i, stop := open(t, d)
		i.Put(key(1), Record{UID: "job"})
		time.Sleep(time.Second)
		if writes, _ := d.count(); writes != 0 {
			t.Error("a record did not wait for company")
		}
		i.Update(key(1), func(r Record) (Record, bool) { r.Finished = true; return r, true })
		time.Sleep(shortDelay)
		synctest.Wait()
		if r, known := d.get(key(1)); !known || !r.Finished {
			t.Errorf("the end of a job waits: %v", r)
		}
		stop()
	})
}

// What changes while a transaction runs is not taken for durable, and is written without another
// change.
func TestAChangeDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{records: map[store.Key]Record{}}
		i, stop := open(t, d)
		pending, again := d.pending, true
		d.mu.Lock()
		d.pending = func() bolt.Pending {
			p := pending()
			if again && len(p.Puts) > 0 {
				again = false
				i.Put(key(1), Record{UID: "second"})
			}
			return p
		}
		d.mu.Unlock()
		i.Put(key(1), Record{UID: "first"})
		time.Sleep(2*longDelay + time.Second)
		if r, _ := d.get(key(1)); r.UID != "second" {
			t.Errorf("written is %q", r.UID)
		}
		stop()
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
