package bolt

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// Meta returns a small value that SetMeta stored, or nil.
func (f *File) Meta(name string) ([]byte, error) {
	var out []byte
	err := f.view(func(tx *bbolt.Tx) error {
		out = append(out, tx.Bucket(bucketMeta).Get([]byte("user/"+name))...)
		return nil
	})
	return out, err
}

// SetMeta stores a small value durably; nil removes it.
func (f *File) SetMeta(name string, value []byte) error {
	return f.update(func(tx *bbolt.Tx) error {
		if value == nil {
			return tx.Bucket(bucketMeta).Delete([]byte("user/" + name))
		}
		return tx.Bucket(bucketMeta).Put([]byte("user/"+name), value)
	})
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
