package bolt

import (
	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// AddUnknown records that the objects of these keys are on the target. A key that the copy does not
// know becomes an entry without a body, whose hash equals no other: at the next comparison the
// sender sends the body, or a tombstone. It returns how many were new. If there are any, the
// present exchange with the sender should begin anew.
func (s *Sink) AddUnknown(keys ...store.Key) (int, error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	n := 0
	if known, err := s.hasAll(keys); err != nil || known {
		return 0, err
	}
	err := s.updateLocked(s.file.update, func(bucket *bbolt.Bucket, st *state) error {
		n = 0
		for _, k := range keys {
			key := entryKey(k)
			if bucket.Get(key) != nil {
				continue
			}
			r := newUnknownBody(k, st.epoch)
			st.add(r)
			if err := bucket.Put(key, r.encode()); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// RefetchUnknown makes the copy differ from its sender wherever it has no body, so that the next
// comparison brings the bodies.
func (s *Sink) RefetchUnknown() error {
	s.commit.Lock()
	defer s.commit.Unlock()
	return s.updateLocked(s.file.update, func(bucket *bbolt.Bucket, st *state) error {
		puts := map[string]record{}
		err := bucket.ForEach(func(k, v []byte) error {
			r, err := decodeRecord(k, v)
			if err == nil && r.UnknownBody && !r.Tombstone {
				puts[string(k)] = r
			}
			return err
		})
		for k, r := range puts {
			if err != nil {
				return err
			}
			st.remove(r)
			r = newUnknownBody(r.Key, st.epoch)
			st.add(r)
			err = bucket.Put([]byte(k), r.encode())
		}
		return err
	})
}

// hasAll reports whether the copy has an entry for each key, so that nothing need be written.
func (s *Sink) hasAll(keys []store.Key) (bool, error) {
	all := len(keys) == 0
	err := s.view(func(bucket *bbolt.Bucket) error {
		all = true
		for _, k := range keys {
			all = all && bucket.Get(entryKey(k)) != nil
		}
		return nil
	})
	return all, err
}

// markUnknown makes entries whose body cannot be read entries without one. A tombstone only loses
// the body that it removes.
func (f *File) markUnknown(name string, keys []store.Key) error {
	return f.update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(name))
		st := state{}
		if err := st.load(tx, []byte(name)); err != nil {
			return err
		}
		for _, k := range keys {
			r, known, err := get(bucket, entryKey(k))
			if err != nil || !known {
				return err
			}
			if r.Tombstone {
				r.stored, r.flags = nil, r.flags&^(flagSealed|flagCompressed)
			} else {
				st.remove(r)
				r = newUnknownBody(k, st.epoch)
				st.add(r)
			}
			if err := bucket.Put(entryKey(k), r.encode()); err != nil {
				return err
			}
		}
		return st.save(tx, []byte(name))
	})
}
