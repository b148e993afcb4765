package bolt

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// Record is what is known of one object that was applied to the target.
type Record struct {
	// UID of the object on the target: what may be deleted.
	UID string `json:"uid,omitempty"`
	// Applied is the desired Hash that was applied last; zero when nothing was yet.
	Applied store.Hash `json:"applied"`
	// Variant is the hash of what Customizers made of that; zero where they changed nothing.
	Variant store.Hash `json:"variant,omitzero"`
	// Generation is the source's generation that was applied.
	Generation int64 `json:"gen,omitempty"`
	// TargetGeneration is the object's own generation on the target after that.
	TargetGeneration int64 `json:"targetGen,omitempty"`
	// ResourceVersion of the object on the target after that.
	ResourceVersion string `json:"rv,omitempty"`
	// Owned is a hash of the fields that were ours on the target after that; 0 when none were.
	Owned uint64 `json:"owned,omitempty"`
	// Finished is true for a Job or Pod that was seen to have run to its end: it is not run again.
	Finished bool `json:"finished,omitempty"`
	// Gone is true when the object went from the target by another's hand and is not made again.
	Gone bool `json:"gone,omitempty"`
	// Ended is true for a Pod that a placed controller had taken over and has deleted.
	Ended bool `json:"ended,omitempty"`
	// Autoscaled is true when an autoscaler on the target decides about its replicas.
	Autoscaled bool `json:"autoscaled,omitempty"`
	// OwnAutoscaler is the name of that autoscaler where it was placed there, too: its space has it.
	OwnAutoscaler string `json:"ownAutoscaler,omitempty"`
	// ScalePath is the field of a custom resource that it sets, as a JSON pointer; empty for
	// /spec/replicas.
	ScalePath string `json:"scalePath,omitempty"`
	// Created is true when the object was made by us, not found.
	Created bool `json:"created,omitempty"`
	// Claims is true for a Namespace in which a template has made claims: they outlive what made them.
	Claims bool `json:"claims,omitempty"`
	// APIVersion and Kind it was applied with, "apps/v1" and "Deployment".
	APIVersion string `json:"api,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// OriginUID is the UID of the source object.
	OriginUID string `json:"origin,omitempty"`
	// Prefix is what the space's namespaces have before their names on the target, as it was when
	// the object was made there.
	Prefix string `json:"prefix,omitempty"`
	// Account is the ServiceAccount as which its pods use the API of their space; empty where they
	// do not.
	Account string `json:"account,omitempty"`
	// Altered says, in words, what the target made of the fields that were applied last; empty where it
	// has them all.
	Altered string `json:"altered,omitempty"`
}

// Inventory is the list of what was applied to the target.
type Inventory struct{ file *File }

// Inventory returns the file's inventory.
func (f *File) Inventory() *Inventory { return &Inventory{f} }

// Get returns the record of a key.
func (i *Inventory) Get(k store.Key) (Record, bool, error) {
	var r Record
	var known bool
	err := i.view(func(bucket *bbolt.Bucket) error {
		v := bucket.Get([]byte(k.Encode()))
		known = v != nil
		if !known {
			return nil
		}
		return decodeInventory(k.Encode(), v, &r)
	})
	return r, known, err
}

// Pending is what is to be written into the inventory.
type Pending struct {
	Puts    map[store.Key]Record
	Deletes []store.Key
	// Durable is called when all of it is; nil for nothing.
	Durable func()
}

// Piggyback writes what is pending in the same transaction as every other change of the file. It
// buys a sync a record: one change of what is desired costs two syncs and not four. pending is
// called within the transaction; if that fails, nothing is written and the next transaction asks
// again. It must be called before the file is used.
func (i *Inventory) Piggyback(pending func() Pending) {
	i.file.piggybacked = append(i.file.piggybacked,
		func(tx *bbolt.Tx) error { return pending().write(tx) })
}

// Commit writes what is pending and returns when it is durable. It costs a sync, so collect before.
func (i *Inventory) Commit() error {
	if err := i.file.update(func(*bbolt.Tx) error { return nil }); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return nil
}

func (p Pending) write(tx *bbolt.Tx) error {
	bucket := tx.Bucket(bucketInventory)
	if bucket == nil {
		return nil
	}
	for _, k := range p.Deletes {
		if err := bucket.Delete([]byte(k.Encode())); err != nil {
			return fmt.Errorf("write inventory: %w", err)
		}
	}
	keys, values := make([]string, 0, len(p.Puts)), make(map[string][]byte, len(p.Puts))
	for k, r := range p.Puts {
		v, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write inventory: %w", err)
		}
		keys, values[k.Encode()] = append(keys, k.Encode()), v
	}
	slices.Sort(keys) // a page is written once, and fuller
	for _, k := range keys {
		if err := bucket.Put([]byte(k), values[k]); err != nil {
			return fmt.Errorf("write inventory: %w", err)
		}
	}
	if p.Durable != nil {
		tx.OnCommit(p.Durable)
	}
	return nil
}

// Each calls fn for every record, in the order of encoded keys, so that a space's are together. It
// works on a snapshot.
func (i *Inventory) Each(fn func(store.Key, Record) error) error {
	type item struct {
		key    store.Key
		record Record
	}
	var all []item
	err := i.view(func(bucket *bbolt.Bucket) error {
		return bucket.ForEach(func(k, v []byte) error {
			var it item
			if err := decodeInventory(string(k), v, &it.record); err != nil {
				return err
			}
			key, err := store.DecodeKey(string(k))
			if err != nil {
				return fmt.Errorf("%w: inventory: %w", ErrCorrupt, err)
			}
			it.key = key
			all = append(all, it)
			return nil
		})
	})
	for _, it := range all {
		if err != nil {
			return err
		}
		err = fn(it.key, it.record)
	}
	return err
}

// Len returns the number of records. It reads the whole bucket.
func (i *Inventory) Len() (int, error) {
	n := 0
	err := i.Each(func(store.Key, Record) error { n++; return nil })
	return n, err
}

func (i *Inventory) view(do func(*bbolt.Bucket) error) error {
	return i.file.view(func(tx *bbolt.Tx) error { return do(tx.Bucket(bucketInventory)) })
}

func decodeInventory(key string, value []byte, r *Record) error {
	if err := json.Unmarshal(value, r); err != nil {
		return fmt.Errorf("%w: inventory record of %s: %w", ErrCorrupt, key, err)
	}
	return nil
}
