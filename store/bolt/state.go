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
	// epoch counts the incarnations that the copy has followed. A stored revision means something only in its own epoch.
	epoch uint64
	live  int64
	outer [store.Fanout]store.Digest
}

const (
	stateBytes  = 16 + 8 + 8 + 8 + 8 // files from before there were eras lack the last 8
	digestBytes = store.Fanout * 16
)

func (st *state) add(e store.Entry) {
	outer, _ := store.Bucket(e.Key)
	st.outer[outer].Add(e.Key, e.Hash)
	st.live++
}

func (st *state) remove(e store.Entry) {
	outer, _ := store.Bucket(e.Key)
	st.outer[outer].Remove(e.Key, e.Hash)
	st.live--
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
	b = binary.BigEndian.AppendUint64(b, uint64(st.position.Era))
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
	if len(b) == stateBytes-8 {
		b = append(slices.Clip(b), make([]byte, 8)...)
	}
	if len(b) != stateBytes || len(d) != digestBytes {
		return fmt.Errorf("%w: the state of %s", ErrCorrupt, name)
	}
	copy(st.position.Incarnation[:], b)
	st.position.Revision = int64(binary.BigEndian.Uint64(b[16:]))
	st.epoch = binary.BigEndian.Uint64(b[24:])
	st.live = int64(binary.BigEndian.Uint64(b[32:]))
	st.position.Era = store.Era(binary.BigEndian.Uint64(b[40:]))
	for i := range st.outer {
		st.outer[i] = store.Digest{Hi: binary.BigEndian.Uint64(d[16*i:]), Lo: binary.BigEndian.Uint64(d[16*i+8:])}
	}
	return nil
}
