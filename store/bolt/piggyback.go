package bolt

import "go.etcd.io/bbolt"

// Piggyback writes a small value, for Meta, in the same transaction as every other change of the
// file. It buys a sync: the value costs no transaction of its own. value is called within the
// transaction and may return nil to leave what is there. It must be called before the file is used.
func (f *File) Piggyback(name string, value func() []byte) {
	f.piggybacked = append(f.piggybacked, func(tx *bbolt.Tx) error {
		v, meta := value(), tx.Bucket(bucketMeta)
		if v == nil || meta == nil {
			return nil
		}
		return meta.Put([]byte("user/"+name), v)
	})
}

func (f *File) writePiggybacked(tx *bbolt.Tx) error {
	for _, write := range f.piggybacked {
		if err := write(tx); err != nil {
			return err
		}
	}
	return nil
}
