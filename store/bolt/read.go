package bolt

import (
	"bytes"
	"cmp"
	"slices"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

func get(bucket *bbolt.Bucket, key []byte) (record, bool, error) {
	v := bucket.Get(key)
	if v == nil {
		return record{}, false, nil
	}
	r, err := decodeRecord(key, v)
	return r, err == nil, err
}

// view calls do, unless nothing was ever stored.
func (s *Sink) view(do func(*bbolt.Bucket) error) error {
	return s.file.view(func(tx *bbolt.Tx) error {
		if bucket := tx.Bucket(s.bucket); bucket != nil {
			return do(bucket)
		}
		return nil
	})
}

// Size returns how many bytes the bodies of live entries take as they are stored.
func (s *Sink) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.size
}

// UnknownBodies returns how many live entries have no body here, for lack of room or because it
// cannot be read.
func (s *Sink) UnknownBodies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.state.unkept)
}

// Get returns what is stored under a key with its body, a tombstone that is not forgotten yet
// included: it has a body when the Sink keeps what was removed. A value that is not what was
// written is ErrCorrupt.
func (s *Sink) Get(k store.Key) (store.Entry, bool, error) {
	s.mu.Lock()
	e, coming := s.starting[k]
	s.mu.Unlock()
	if coming {
		return e, true, nil
	}
	var out store.Entry
	var known bool
	err := s.view(func(bucket *bbolt.Bucket) error {
		r, ok, err := get(bucket, entryKey(k))
		if err != nil || !ok {
			return err
		}
		switch {
		case r.UnknownBody, r.Tombstone && len(r.stored) == 0:
		case r.Tombstone:
			r.Body, err = s.file.body(r)
		default:
			r.Body, err = s.file.value(r)
		}
		if err != nil {
			return err
		}
		out, known = r.Entry, true
		return nil
	})
	return out, known, err
}

// Each calls fn for every entry, without bodies, in the order of application: by class, tombstones
// last and in reverse. It works on a snapshot: fn may read and write the file.
func (s *Sink) Each(fn func(store.Entry) error) error {
	var all []store.Entry
	err := s.scan(nil, func(r record) { all = append(all, r.Entry) })
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b store.Entry) int {
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(a.Revision, b.Revision))
	})
	for _, e := range all {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// Forget drops tombstones that the consumer has carried out. A key that is live by now, or was
// deleted once more at a later revision, is left alone.
func (s *Sink) Forget(tombstones ...store.Entry) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	return s.updateLocked(s.file.update, func(bucket *bbolt.Bucket, _ *state) error {
		for _, e := range tombstones {
			r, known, err := get(bucket, entryKey(e.Key))
			if err != nil {
				return err
			}
			if known && r.Tombstone && r.Revision == e.Revision {
				if err := s.file.shredded(bucket.Tx(), r); err != nil {
					return err
				}
				if err := bucket.Delete(entryKey(e.Key)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Sink) scan(prefix []byte, visit func(record)) error {
	return s.view(func(bucket *bbolt.Bucket) error {
		c := bucket.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			r, err := decodeRecord(k, v)
			if err != nil {
				return err
			}
			r.stored = nil // it ends with the transaction
			visit(r)
		}
		return nil
	})
}

// Root implements store.Digested.
func (s *Sink) Root() store.Digest {
	st := s.snapshot()
	return st.root()
}

// Outer implements store.Digested.
func (s *Sink) Outer() ([store.Fanout]store.Digest, error) { return s.snapshot().outer, nil }

// Inner implements store.Digested.
func (s *Sink) Inner(outer int) ([store.Fanout]store.Digest, error) {
	var out [store.Fanout]store.Digest
	err := s.scan([]byte{byte(outer)}, func(r record) {
		if !r.Tombstone {
			_, inner := store.Bucket(r.Key)
			out[inner].Add(r.Key, r.Hash)
		}
	})
	return out, err
}

// Members implements store.Digested.
func (s *Sink) Members(outer, inner int) ([]store.KeyHash, error) {
	var out []store.KeyHash
	err := s.scan([]byte{byte(outer), byte(inner)}, func(r record) {
		if !r.Tombstone {
			out = append(out, store.KeyHash{Key: r.Key, Hash: r.Hash})
		}
	})
	return out, err
}
