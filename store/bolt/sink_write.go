package bolt

import (
	"slices"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// write stores entries and returns what they changed. Values are put in the order of the bucket, so
// that each page is written once.
func (s *Sink) write(bucket *bbolt.Bucket, st *state, entries []store.Entry) (change, error) {
	type put struct{ key, value []byte } // without a value it is deleted
	var puts []put
	var changed change
	var pending map[store.Key]record // needed only where a key may come twice
	if len(entries) > 1 {
		pending = make(map[store.Key]record, len(entries))
	}
	for _, e := range entries {
		key := entryKey(e.Key)
		old, known := pending[e.Key]
		if !known {
			var err error
			if old, known, err = get(bucket, key); err != nil {
				return change{}, err
			}
		}
		if !known && e.Tombstone && s.options.Holds != nil && s.options.Holds(e.Key) {
			old.Revision = store.Comparing
		} else if !supersedes(e, old, known, st.epoch) {
			continue
		}
		if known && !old.Tombstone {
			st.remove(old)
		}
		var r record
		if e.Tombstone {
			r = newTombstone(e, st.epoch, old, s.options.KeepRemoved)
			delete(changed.created, e.Key)
		} else {
			if r = s.file.newRecord(e, st.epoch); s.options.Room != nil &&
				st.size+int64(len(r.stored)) > s.options.Room() {
				r = newOversized(e, st.epoch)
			}
			st.add(r)
			if _, again := changed.created[e.Key]; !known || again {
				if changed.created == nil {
					changed.created = map[store.Key]store.Entry{}
				}
				changed.created[e.Key] = e
			}
		}
		if err := s.file.shredded(bucket.Tx(), old); err != nil {
			return change{}, err
		}
		if pending != nil {
			pending[e.Key] = r
		}
		p := put{key: key}
		if !e.Tombstone || !s.options.DropRemoved {
			p.value = r.encode()
		}
		puts = append(puts, p)
		changed.keys = append(changed.keys, e.Key)
	}
	slices.SortStableFunc(puts, func(a, b put) int { return slices.Compare(a.key, b.key) })
	for _, p := range puts {
		err := error(nil)
		if p.value == nil {
			err = bucket.Delete(p.key)
		} else {
			err = bucket.Put(p.key, p.value)
		}
		if err != nil {
			return change{}, err
		}
	}
	return changed, nil
}

// supersedes reports whether an entry changes what is stored under its key. Revisions of another
// epoch do not compare.
func supersedes(e store.Entry, old record, known bool, epoch uint64) bool {
	switch {
	case !known:
		return !e.Tombstone
	case old.Hash == e.Hash && old.Removal == e.Removal && old.Intended == e.Intended:
		return false
	case old.epoch != epoch:
		return true
	default:
		return e.Revision >= old.Revision
	}
}
