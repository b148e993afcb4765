package bolt

import "go.etcd.io/bbolt"

// Along writes a small value, which Meta reads, together with every other change of the file: that costs no write of its own. Value is called within
// the transaction; nil leaves what is there. It must be called before the file is used.
func (f *File) Along(name string, value func() []byte) { f.along[name] = value }

func (f *File) writeAlong(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	for name, value := range f.along {
		v := value()
		if v == nil || meta == nil {
			continue
		}
		if err := meta.Put([]byte("user/"+name), v); err != nil {
			return err
		}
	}
	return f.writePending(tx)
}
