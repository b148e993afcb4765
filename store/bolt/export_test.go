package bolt

import "go.etcd.io/bbolt"

// MaintainNow does what Maintain does at each of its times.
func (f *File) MaintainNow() error { return f.maintain() }

// Waiting is how many writes wait for their transaction.
func (f *File) Waiting() int {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	return len(f.group.waiting)
}

// ForgetSizes leaves the state of a copy as versions wrote it that did not count sizes.
func (s *Sink) ForgetSizes() error {
	return s.file.update(func(tx *bbolt.Tx) error {
		meta, key := tx.Bucket(bucketMeta), keyState(string(s.bucket))
		return meta.Put(key, meta.Get(key)[:stateBytes-16])
	})
}
