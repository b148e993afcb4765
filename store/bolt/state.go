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
	if err := meta.Put([]byte("sink/"+string(name)), b); err != nil {
		return err
	}
	return meta.Put([]byte("digest/"+string(name)), d)
}

// load reads the state of a sink, or makes its bucket.
func (s *Sink) load(tx *bbolt.Tx) error {
	if _, err := tx.CreateBucketIfNotExists(s.bucket); err != nil {
		return err
	}
	meta := tx.Bucket(bucketMeta)
	b, d := meta.Get([]byte("sink/"+string(s.bucket))), meta.Get([]byte("digest/"+string(s.bucket)))
	if b == nil && d == nil {
		return nil
	}
	if len(b) == stateBytes-8 {
		b = append(slices.Clip(b), make([]byte, 8)...)
	}
	if len(b) != stateBytes || len(d) != digestBytes {
		return fmt.Errorf("%w: the state of %s", ErrCorrupt, s.bucket)
	}
	copy(s.state.position.Incarnation[:], b)
	s.state.position.Revision = int64(binary.BigEndian.Uint64(b[16:]))
	s.state.epoch = binary.BigEndian.Uint64(b[24:])
	s.state.live = int64(binary.BigEndian.Uint64(b[32:]))
	s.state.position.Era = store.Era(binary.BigEndian.Uint64(b[40:]))
	for i := range s.state.outer {
		s.state.outer[i] = store.Digest{Hi: binary.BigEndian.Uint64(d[16*i:]), Lo: binary.BigEndian.Uint64(d[16*i+8:])}
	}
	return nil
}
