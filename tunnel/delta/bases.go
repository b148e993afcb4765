package delta

import (
	"bytes"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/wire"
)

// bases has the last body that was sent of each key, as the base of the next patch. Bodies are kept
// as they are while there is plenty of room, else compressed. When it is full it evicts some: their
// next version is sent whole.
type bases struct {
	codec *compress.Codec
	limit int
	bytes int
	sent  compactmap.Map[store.Key, base]
}

type base struct {
	bytes  []byte
	packed bool
}

func newBases(codec *compress.Codec, limit int) *bases {
	return &bases{codec: codec, limit: limit}
}

// get returns the last body sent, or nil.
func (b *bases) get(k store.Key) []byte {
	last, ok := b.sent.Find(k)
	if !ok || !last.packed {
		return last.bytes
	}
	body, err := b.codec.Decode(nil, last.bytes, store.MaxBodyBytes)
	if err != nil {
		return nil // own bytes: cannot be; a whole body is right in any case
	}
	return body
}

// put stores the body that was just encoded for the stream; a tombstone has none.
func (b *bases) put(k store.Key, body []byte) {
	b.drop(k)
	if b.limit == 0 || len(body) == 0 || len(body) > wire.MaxPatchBody {
		return
	}
	var last base
	if b.bytes+len(body) <= b.limit/4 {
		last.bytes = bytes.Clone(body)
	} else {
		last = base{b.codec.Encode(nil, body), true}
	}
	b.sent.Put(k, last)
	b.bytes += len(last.bytes)
	for other := range b.sent.All() {
		if b.bytes <= b.limit {
			return
		}
		b.drop(other)
	}
}

func (b *bases) drop(k store.Key) {
	b.bytes -= len(b.sent.Get(k).bytes)
	b.sent.Delete(k)
}
