// Package inventory remembers what an agent has written to its target: for each desired key the UID of the object there and
// the hash that was applied. It answers from memory and writes to the bbolt file behind, many records a transaction, so that
// an apply never waits for a disk and an idle agent never syncs one. A record that a crash loses costs a read of the
// target at the next start, never a second write: the object there carries the origin's UID.
// It is shared by apply, which writes it, and observe, which looks objects up by their UID on the target.
package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/shrinking"
	"skerry.dev/skerry/tunnel/work"
)

// Store keeps records durably. bolt.Inventory is one.
type Store interface {
	// Write stores and removes records in one transaction.
	Write(puts map[store.Key]Record, deletes ...store.Key) error
	// Each visits every record.
	Each(visit func(store.Key, Record) error) error
}

// Records are grouped into one transaction for flushDelay after the first of them, or until there are flushCount.
const (
	flushDelay = 250 * time.Millisecond
	flushCount = 256
)

// Inventory is the set of records. Its methods may be called concurrently.
type Inventory struct {
	disk Store
	log  *slog.Logger

	mu      sync.Mutex
	records *shrinking.Index[store.Key, entry]
	uids    shrinking.Map[string, *entry]
	dirty   map[store.Key]struct{}
	wake    chan struct{} // one slot: there is something to write
	full    chan struct{} // one slot: do not wait any longer
	writing sync.Mutex    // held during a transaction
}

// entry is a key's record.
type entry struct {
	key    store.Key
	record Record
}

func (e *entry) place() *store.Key { return &e.key }

// Open reads all records.
func Open(disk Store, log *slog.Logger) (*Inventory, error) {
	i := &Inventory{
		disk: disk, log: log, records: shrinking.NewIndex((*entry).place), dirty: map[store.Key]struct{}{},
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
	err := disk.Each(func(k store.Key, r Record) error {
		i.set(k, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return i, nil
}

// Run writes behind until ctx ends, and then writes what is left.
func (i *Inventory) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return i.Flush()
		case <-i.wake:
		}
		timer := time.NewTimer(flushDelay)
		select {
		case <-ctx.Done():
		case <-i.full:
		case <-timer.C:
		}
		timer.Stop()
		if err := i.Flush(); err != nil {
			i.log.Error("inventory not written, trying again", "err", err)
			i.signal(i.wake)
			if !work.Pause(ctx, time.Second) { // a full disk must not become a busy loop
				return i.Flush()
			}
		}
	}
}

// Flush writes everything that is not yet durable.
func (i *Inventory) Flush() error {
	i.writing.Lock()
	defer i.writing.Unlock()
	i.mu.Lock()
	puts := map[store.Key]Record{}
	var deletes []store.Key
	for k := range i.dirty {
		if e := i.records.Get(k); e != nil {
			puts[k] = e.record
		} else {
			deletes = append(deletes, k)
		}
	}
	i.dirty = map[store.Key]struct{}{}
	i.mu.Unlock()
	if len(puts) == 0 && len(deletes) == 0 {
		return nil
	}
	// gofail: var beforeInventoryWrite struct{}
	if err := i.disk.Write(puts, deletes...); err != nil {
		i.mu.Lock()
		for k := range puts {
			i.dirty[k] = struct{}{}
		}
		for _, k := range deletes {
			i.dirty[k] = struct{}{}
		}
		i.mu.Unlock()
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

// Get returns the record of a key.
func (i *Inventory) Get(k store.Key) (Record, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.records.Get(k); e != nil {
		return e.record, true
	}
	return Record{}, false
}

// ByUID returns the key whose object on the target has this UID.
func (i *Inventory) ByUID(uid string) (store.Key, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.uids.Get(uid); e != nil {
		return e.key, true
	}
	return store.Key{}, false
}

// Put sets the record of a key.
func (i *Inventory) Put(k store.Key, r Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(k, r)
}

func (i *Inventory) put(k store.Key, r Record) {
	if old := i.records.Get(k); old != nil {
		if old.record == r {
			return
		}
		i.forgetUID(old)
	}
	i.set(k, r)
	i.touch(k)
}

// set puts a record into memory. i.mu is held.
func (i *Inventory) set(k store.Key, r Record) {
	e := i.records.Get(k)
	if e == nil {
		e = &entry{key: k}
		i.records.Put(e)
	}
	e.record = r
	if r.UID != "" {
		i.uids.Put(r.UID, e)
	}
}

// Update changes the record of a key in one step, when there is one and change says so.
func (i *Inventory) Update(k store.Key, change func(r Record) (Record, bool)) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.records.Get(k)
	if old == nil {
		return false
	}
	r, ok := change(old.record)
	if ok {
		i.put(k, r)
	}
	return ok
}

// PutNew sets the record of a key that has none, and of which no other key has the object.
func (i *Inventory) PutNew(k store.Key, r Record) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known, taken := i.records.Get(k) != nil, i.uids.Has(r.UID)
	if !known && !taken {
		i.put(k, r)
	}
	return !known && !taken
}

// Delete removes the record of a key.
func (i *Inventory) Delete(k store.Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.records.Get(k)
	if old == nil {
		return
	}
	i.forgetUID(old)
	i.records.Delete(k)
	i.touch(k)
}

func (i *Inventory) forgetUID(e *entry) {
	if i.uids.Get(e.record.UID) == e {
		i.uids.Delete(e.record.UID)
	}
}

// touch marks a key as not yet durable. i.mu is held.
func (i *Inventory) touch(k store.Key) {
	i.dirty[k] = struct{}{}
	i.signal(i.wake)
	if len(i.dirty) >= flushCount {
		i.signal(i.full)
	}
}

func (i *Inventory) signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Each visits a copy of all records.
func (i *Inventory) Each(visit func(store.Key, Record)) {
	i.mu.Lock()
	all := make([]entry, 0, i.records.Len())
	for e := range i.records.All() {
		all = append(all, *e)
	}
	i.mu.Unlock()
	for _, e := range all {
		visit(e.key, e.record)
	}
}

// Any tells whether a record satisfies the condition, which must not call the Inventory.
func (i *Inventory) Any(condition func(store.Key, Record) bool) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for e := range i.records.All() {
		if condition(e.key, e.record) {
			return true
		}
	}
	return false
}
