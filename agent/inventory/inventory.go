package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/compactmap"
	"skerry.dev/skerry/tunnel/ondemand"
)

// Store stores records durably. bolt.Inventory implements it.
type Store interface {
	// Along registers what is to be written. The store asks for it in each of its transactions, and
	// calls Durable after it.
	Piggyback(pending func() bolt.Pending)
	// Commit writes what is pending in a transaction of its own.
	Commit() error
	// Each visits every record.
	Each(visit func(store.Key, Record) error) error
}

// A change waits for longDelay at most for something else that is written to the file, or until
// there are flushCount. What the target itself will not tell again, that an object has run to its
// end or went, waits for shortDelay.
const (
	shortDelay = 250 * time.Millisecond
	longDelay  = 5 * time.Second
	flushCount = 256
)

// Inventory is the set of records. Its methods may be called concurrently.
type Inventory struct {
	disk Store
	log  *slog.Logger

	mu      sync.Mutex
	records *compactmap.Index[store.Key, entry]
	uids    compactmap.Map[string, *entry]
	dirty   map[store.Key]int64 // what is not durable, and which change of all was the key's last
	changes int64
	due     time.Time     // when dirty is written at the latest
	wake    chan struct{} // one slot: due has changed
	turns   chan struct{} // Run receives from it, for Alive
	writing sync.Mutex    // held during a transaction of its own
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
		disk:    disk,
		log:     log,
		records: compactmap.NewIndex((*entry).place),
		dirty:   map[store.Key]int64{},
		wake:    make(chan struct{}, 1),
		turns:   make(chan struct{}),
	}
	err := disk.Each(func(k store.Key, r Record) error {
		i.setLocked(k, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	disk.Piggyback(i.pending)
	return i, nil
}

// Run writes behind until ctx ends, and then writes what is left.
func (i *Inventory) Run(ctx context.Context) error {
	timer := time.NewTimer(longDelay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return i.Flush()
		case <-i.turns:
			continue
		case <-i.wake:
		case <-timer.C:
		}
		i.mu.Lock()
		some, wait := len(i.dirty) > 0, time.Until(i.due)
		i.mu.Unlock()
		if !some {
			continue
		}
		if wait > 0 {
			timer.Reset(wait)
			continue
		}
		if err := i.Flush(); err != nil {
			i.log.Error("inventory not written, trying again", "err", err)
			if !ondemand.Pause(ctx, time.Second) { // a full disk must not become a busy loop
				return i.Flush()
			}
		}
		timer.Reset(0) // what was touched meanwhile
	}
}

// Alive waits until Run has turned once. It returns the error of ctx when that ends first.
func (i *Inventory) Alive(ctx context.Context) error {
	select {
	case i.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush writes everything that is not yet durable.
func (i *Inventory) Flush() error {
	i.writing.Lock()
	defer i.writing.Unlock()
	i.mu.Lock()
	some := len(i.dirty) > 0
	i.mu.Unlock()
	if !some {
		return nil
	}
	// gofail: var beforeInventoryWrite struct{}
	if err := i.disk.Commit(); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

// pending returns what is not durable yet. It is called within each transaction of the file.
func (i *Inventory) pending() bolt.Pending {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.dirty) == 0 {
		return bolt.Pending{}
	}
	p, through := bolt.Pending{Puts: make(map[store.Key]Record, len(i.dirty))}, i.changes
	for k := range i.dirty {
		if e := i.records.Get(k); e != nil {
			p.Puts[k] = e.record
		} else {
			p.Deletes = append(p.Deletes, k)
		}
	}
	p.Durable = func() { i.durable(through) }
	return p
}

// durable records that all changes up to through are durable.
func (i *Inventory) durable(through int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	later := map[store.Key]int64{}
	for k, n := range i.dirty {
		if n > through {
			later[k] = n
		}
	}
	i.dirty = later
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

// Put sets the record of a key. That a Namespace has claims, which Update has said, stays.
func (i *Inventory) Put(k store.Key, r Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if old := i.records.Get(k); old != nil {
		r.Claims = r.Claims || old.record.Claims
	}
	i.put(k, r)
}

func (i *Inventory) put(k store.Key, r Record) {
	var before Record
	if old := i.records.Get(k); old != nil {
		if before = old.record; before == r {
			return
		}
		i.forgetUID(old)
	}
	i.setLocked(k, r)
	delay := longDelay
	if r.Finished != before.Finished || r.Gone != before.Gone {
		delay = shortDelay
	}
	i.touchLocked(k, delay)
}

// setLocked puts a record into memory. i.mu must be held.
func (i *Inventory) setLocked(k store.Key, r Record) {
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

// Update changes the record of a key in one step. It reports false, and changes nothing, if there
// is no record or change returns false.
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

// PutNew sets the record of a key that has none, if no other key has the object. It reports whether
// it did.
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
	i.touchLocked(k, longDelay)
}

func (i *Inventory) forgetUID(e *entry) {
	if i.uids.Get(e.record.UID) == e {
		i.uids.Delete(e.record.UID)
	}
}

// touchLocked marks a key as not durable, to be written after delay at the latest. i.mu must be
// held.
func (i *Inventory) touchLocked(k store.Key, delay time.Duration) {
	due := time.Now().Add(delay)
	first := len(i.dirty) == 0
	i.changes++
	i.dirty[k] = i.changes
	if len(i.dirty) >= flushCount {
		due = time.Time{}
	}
	if !first && !due.Before(i.due) {
		return
	}
	i.due = due
	select {
	case i.wake <- struct{}{}:
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

// Any reports whether a record satisfies condition, which must not call the Inventory.
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
