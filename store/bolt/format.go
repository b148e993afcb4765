package bolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store/compress"
)

// Format is the version of the layout that this package writes.
//
//	1  sealed bodies do not say their key
//	2  sealed bodies begin with the number of their key; meta has clean and shred
const Format = 2

var (
	keyFormat     = []byte("format")
	keyDictionary = []byte("dictionary")
)

// prepare checks the format of a file that has one and brings it up to date, and writes the
// skeleton of a new one.
func (f *File) prepare() error {
	have := uint32(0)
	err := f.view(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil
		}
		var err error
		have, err = formatOf(meta)
		return err
	})
	switch {
	case err != nil || have == Format:
		return err
	case f.readOnly && have == 0:
		return fmt.Errorf("%w: it holds nothing", ErrCorrupt)
	case f.readOnly:
		return fmt.Errorf("the file is of format %d and has to be migrated to %d, but it cannot "+
			"be written", have, Format)
	case have == 0:
		return f.update(skeleton)
	default:
		f.log.Info("store file migrated", "path", f.path, "from", have, "to", Format)
		return f.update(f.migrate)
	}
}

func skeleton(tx *bbolt.Tx) error {
	for _, name := range [][]byte{bucketMeta, bucketInventory} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	if err := tx.Bucket(bucketMeta).Put(keyDictionary,
		[]byte(compress.DictionaryName())); err != nil {
		return err
	}
	return tx.Bucket(bucketMeta).Put(keyFormat, number(Format))
}

func formatOf(meta *bbolt.Bucket) (uint32, error) {
	v := meta.Get(keyFormat)
	if len(v) != 4 {
		return 0, fmt.Errorf("%w: no format version", ErrCorrupt)
	}
	got := binary.BigEndian.Uint32(v)
	if got > Format {
		return 0, fmt.Errorf("%w: %d, this version reads up to %d: use the newer version, or "+
			"move the file away and it is built anew", ErrNewerFormat, got, Format)
	}
	if got == 0 {
		return 0, fmt.Errorf("%w: format version 0", ErrCorrupt)
	}
	if got := string(meta.Get(keyDictionary)); got != compress.DictionaryName() {
		return 0, fmt.Errorf("%w: written with dictionary %q, this version has %q", ErrNewerFormat,
			got, compress.DictionaryName())
	}
	return got, nil
}

// migrate goes from format 1 to 2: bodies that were sealed under the only key say its number, 0.
func (f *File) migrate(tx *bbolt.Tx) error {
	names, err := copies(tx)
	if err != nil {
		return err
	}
	for _, name := range names {
		bucket := tx.Bucket([]byte(name))
		puts := map[string][]byte{}
		err := bucket.ForEach(func(k, v []byte) error {
			r, err := decodeRecord(k, v)
			if err == nil && r.flags&flagSealed != 0 && len(r.stored) > 0 {
				r.stored = append(number(0), r.stored...)
				puts[string(k)] = r.encode()
			}
			return err
		})
		if err != nil {
			return err
		}
		for k, v := range puts {
			if err := bucket.Put([]byte(k), v); err != nil {
				return err
			}
		}
	}
	return tx.Bucket(bucketMeta).Put(keyFormat, number(Format))
}
