package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"

	"skerry.dev/skerry/store"
)

// An entry's record: flags (1 byte), epoch, revision, generation (varints), hash (16 bytes, not for
// a tombstone), then the body. The upper two bits of the flags are a tombstone's Removal; files
// from before it have 0 there, RemoveDelete.
const (
	flagTombstone   = 1 << 0
	flagCompressed  = 1 << 1
	flagSealed      = 1 << 2
	flagUnknownBody = 1 << 3
	flagIntended    = 1 << 4
	removalShift    = 6
)

// record is a stored entry with its body as it is in the file.
type record struct {
	store.Entry
	epoch  uint64
	flags  byte
	stored []byte
}

// entryKey is the key of an entry in its bucket: the two digest buckets first, so that the members
// of one are neighbours.
func entryKey(k store.Key) []byte {
	outer, inner := store.Bucket(k)
	return k.AppendTo(append(make([]byte, 0, 128), byte(outer), byte(inner)))
}

func (r *record) encode() []byte {
	b := make([]byte, 0, 48+len(r.stored))
	b = append(b, r.flags)
	b = binary.AppendUvarint(b, r.epoch)
	b = binary.AppendVarint(b, r.Revision)
	b = binary.AppendVarint(b, r.Generation)
	if r.flags&flagTombstone == 0 {
		b = append(b, r.Hash[:]...)
	}
	return append(b, r.stored...)
}

// decodeRecord reads a record; stored points into value. The key is the one in the bucket.
func decodeRecord(key, value []byte) (record, error) {
	if len(key) < 2 || len(value) < 1 {
		return record{}, fmt.Errorf("%w: a record of %d and %d bytes", ErrCorrupt, len(key),
			len(value))
	}
	k, err := store.DecodeKey(string(key[2:]))
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if outer, inner := store.Bucket(k); key[0] != byte(outer) || key[1] != byte(inner) {
		return record{}, fmt.Errorf("%w: %s is not where it belongs", ErrCorrupt, k)
	}
	r := record{Entry: store.Entry{Key: k}, flags: value[0]}
	rest := value[1:]
	var a, b, c int
	r.epoch, a = binary.Uvarint(rest)
	if a > 0 {
		r.Revision, b = binary.Varint(rest[a:])
	}
	if b > 0 {
		r.Generation, c = binary.Varint(rest[a+b:])
	}
	if c <= 0 {
		return record{}, fmt.Errorf("%w: the record of %s", ErrCorrupt, k)
	}
	rest = rest[a+b+c:]
	if r.Tombstone = r.flags&flagTombstone != 0; r.Tombstone {
		r.Removal, r.Intended = store.Removal(r.flags>>removalShift), r.flags&flagIntended != 0
	} else {
		if len(rest) < len(r.Hash) {
			return record{}, fmt.Errorf("%w: the record of %s", ErrCorrupt, k)
		}
		rest = rest[copy(r.Hash[:], rest):]
	}
	r.stored = rest
	r.UnknownBody = r.flags&flagUnknownBody != 0
	return r, nil
}

// newTombstone is the record of a tombstone. It keeps the body of the record that it supersedes, as
// it is stored, when keep is true.
func newTombstone(e store.Entry, epoch uint64, old record, keep bool) record {
	r := record{Entry: e, epoch: epoch, flags: flagTombstone | byte(e.Removal)<<removalShift}
	if e.Intended {
		r.flags |= flagIntended
	}
	if keep {
		r.stored = slices.Clone(old.stored)
		r.flags |= old.flags & (flagCompressed | flagSealed)
	}
	return r
}

// newUnknownBody is the record of a key whose value is not known. Its hash is random, so that it
// equals no sender's.
func newUnknownBody(k store.Key, epoch uint64) record {
	return record{Entry: store.Entry{Key: k, Hash: store.Hash(store.NewIncarnation()),
		UnknownBody: true},
		epoch: epoch, flags: flagUnknownBody}
}

// newOversized is the record of a value that is not kept: the copy equals its sender, who need not
// send it again.
func newOversized(e store.Entry, epoch uint64) record {
	return record{Entry: store.Entry{Key: e.Key, Hash: e.Hash, Revision: e.Revision,
		Generation: e.Generation, UnknownBody: true}, epoch: epoch, flags: flagUnknownBody}
}

// newRecord compresses and, for a Secret, encrypts the body of a live entry.
func (f *File) newRecord(e store.Entry, epoch uint64) record {
	r := record{Entry: e, epoch: epoch}
	r.stored = f.codec.Encode(nil, e.Body)
	r.flags = flagCompressed
	if len(r.stored) >= len(e.Body) {
		r.stored, r.flags = e.Body, 0
	}
	if f.keys != nil && sensitive(e.Key) {
		r.stored = f.keys.seal(e.Key, r.stored)
		r.flags |= flagSealed
	}
	return r
}

// value returns the body of a live record, if it is what was written.
func (f *File) value(r record) ([]byte, error) {
	body, err := f.body(r)
	if err == nil && store.HashBody(r.Generation, body) != r.Hash &&
		store.HashReport(r.Generation, body) != r.Hash {
		err = fmt.Errorf("%w: the body of %s is not what was written", ErrCorrupt, r.Key)
	}
	return body, err
}

// body returns the original bytes of a record's body, never pointing into the file.
func (f *File) body(r record) ([]byte, error) {
	stored := r.stored
	if r.flags&flagSealed != 0 {
		opened, err := f.keys.open(r.Key, stored)
		if err != nil {
			return nil, err
		}
		stored = opened
	}
	if r.flags&flagCompressed == 0 {
		return append([]byte(nil), stored...), nil
	}
	body, err := f.codec.Decode(nil, stored, store.MaxBodyBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: the body of %s: %w", ErrCorrupt, r.Key, err)
	}
	return body, nil
}
