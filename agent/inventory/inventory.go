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
	records map[store.Key]Record
	uids    map[string]store.Key
	dirty   map[store.Key]struct{}
	wake    chan struct{} // one slot: there is something to write
	full    chan struct{} // one slot: do not wait any longer
	writing sync.Mutex    // held during a transaction
}

// Open reads all records.
func Open(disk Store, log *slog.Logger) (*Inventory, error) {
	i := &Inventory{
		disk: disk, log: log, records: map[store.Key]Record{}, uids: map[string]store.Key{}, dirty: map[store.Key]struct{}{},
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
	err := disk.Each(func(k store.Key, r Record) error {
		i.records[k] = r
		if r.UID != "" {
			i.uids[r.UID] = k
		}
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
		if r, ok := i.records[k]; ok {
			puts[k] = r
		} else {
			deletes = append(deletes, k)
		}
	}
	clear(i.dirty)
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
	r, ok := i.records[k]
	return r, ok
}

// ByUID returns the key whose object on the target has this UID.
func (i *Inventory) ByUID(uid string) (store.Key, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	k, ok := i.uids[uid]
	return k, ok
}

// Put sets the record of a key.
func (i *Inventory) Put(k store.Key, r Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(k, r)
}

func (i *Inventory) put(k store.Key, r Record) {
	if old, ok := i.records[k]; ok {
		if old == r {
			return
		}
		i.forgetUID(k, old.UID)
	}
	i.records[k] = r
	if r.UID != "" {
		i.uids[r.UID] = k
	}
	i.touch(k)
}

// Update changes the record of a key in one step, when there is one and change says so.
func (i *Inventory) Update(k store.Key, change func(r Record) (Record, bool)) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	old, ok := i.records[k]
	if !ok {
		return false
	}
	r, ok := change(old)
	if ok {
		i.put(k, r)
	}
	return ok
}

// PutNew sets the record of a key that has none, and of which no other key has the object.
func (i *Inventory) PutNew(k store.Key, r Record) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, known := i.records[k]
	_, taken := i.uids[r.UID]
	if !known && !taken {
		i.put(k, r)
	}
	return !known && !taken
}

// Delete removes the record of a key.
func (i *Inventory) Delete(k store.Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	old, ok := i.records[k]
	if !ok {
		return
	}
	i.forgetUID(k, old.UID)
	delete(i.records, k)
	i.touch(k)
}

func (i *Inventory) forgetUID(k store.Key, uid string) {
	if i.uids[uid] == k {
		delete(i.uids, uid)
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
	all := make(map[store.Key]Record, len(i.records))
	for k, r := range i.records {
		all[k] = r
	}
	i.mu.Unlock()
	for k, r := range all {
		visit(k, r)
	}
}

// Any tells whether a record satisfies the condition, which must not call the Inventory.
func (i *Inventory) Any(condition func(store.Key, Record) bool) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k, r := range i.records {
		if condition(k, r) {
			return true
		}
	}
	return false
}
