package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// state is what a Sink knows without reading entries. It is stored with every commit.
type state struct {
	position store.Position
	// epoch counts the incarnations that the copy has followed. A stored revision means something
	// only in its own epoch.
	epoch uint64
	live  int64
	// size is how many bytes the values of live entries take as they are stored; unkept counts
	// those whose value is not here.
	size, unkept int64
	outer        [store.Fanout]store.Digest
}

const (
	// files from before sizes were counted lack the last 16, and those from before there were eras
	// 8 more
	stateBytes  = 16 + 6*8
	digestBytes = store.Fanout * 16
)

func (st *state) add(r record) {
	outer, _ := store.Bucket(r.Key)
	st.outer[outer].Add(r.Key, r.Hash)
	st.live++
	st.measure(r, 1)
}

func (st *state) remove(r record) {
	outer, _ := store.Bucket(r.Key)
	st.outer[outer].Remove(r.Key, r.Hash)
	st.live--
	st.measure(r, -1)
}

// measure counts what a live record takes, n times.
func (st *state) measure(r record, n int64) {
	if st.size += n * int64(len(r.stored)); r.UnknownBody {
		st.unkept += n
	}
}

// measureAll counts what the live records of a bucket take.
func (st *state) measureAll(bucket *bbolt.Bucket) error {
	if bucket == nil {
		return nil
	}
	return bucket.ForEach(func(k, v []byte) error {
		r, err := decodeRecord(k, v)
		if err == nil && !r.Tombstone {
			st.measure(r, 1)
		}
		return err
	})
}

func (st *state) root() store.Digest {
	var d store.Digest
	for _, b := range st.outer {
		d.Merge(b)
	}
	return d
}

// The keys of a copy's state in bucketMeta.
func keyState(name string) []byte  { return []byte("sink/" + name) }
func keyDigest(name string) []byte { return []byte("digest/" + name) }

func (st *state) save(tx *bbolt.Tx, name []byte) error {
	b := append(make([]byte, 0, stateBytes), st.position.Incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(st.position.Revision))
	b = binary.BigEndian.AppendUint64(b, st.epoch)
	b = binary.BigEndian.AppendUint64(b, uint64(st.live))
	for _, n := range []int64{int64(st.position.Era), st.size, st.unkept} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	d := make([]byte, 0, digestBytes)
	for _, o := range st.outer {
		d = binary.BigEndian.AppendUint64(d, o.Hi)
		d = binary.BigEndian.AppendUint64(d, o.Lo)
	}
	meta := tx.Bucket(bucketMeta)
	if err := meta.Put(keyState(string(name)), b); err != nil {
		return err
	}
	return meta.Put(keyDigest(string(name)), d)
}

// load reads the state of a copy; that of a new one is zero.
func (st *state) load(tx *bbolt.Tx, name []byte) error {
	*st = state{}
	meta := tx.Bucket(bucketMeta)
	b, d := meta.Get(keyState(string(name))), meta.Get(keyDigest(string(name)))
	if b == nil && d == nil {
		return nil
	}
	measured := len(b) == stateBytes
	if lacks := stateBytes - len(b); lacks == 16 || lacks == 24 {
		b = append(slices.Clip(b), make([]byte, lacks)...)
	}
	if len(b) != stateBytes || len(d) != digestBytes {
		return fmt.Errorf("%w: the state of %s", ErrCorrupt, name)
	}
	copy(st.position.Incarnation[:], b)
	st.position.Revision = int64(binary.BigEndian.Uint64(b[16:]))
	st.epoch = binary.BigEndian.Uint64(b[24:])
	st.live = int64(binary.BigEndian.Uint64(b[32:]))
	st.position.Era = store.Era(binary.BigEndian.Uint64(b[40:]))
	st.size, st.unkept = int64(binary.BigEndian.Uint64(b[48:])),
		int64(binary.BigEndian.Uint64(b[56:]))
	for i := range st.outer {
		st.outer[i] = store.Digest{Hi: binary.BigEndian.Uint64(d[16*i:]),
			Lo: binary.BigEndian.Uint64(d[16*i+8:])}
	}
	if !measured {
		return st.measureAll(tx.Bucket(name))
	}
	return nil
}
