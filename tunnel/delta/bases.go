package delta

import (
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/wire"
)

// bases keeps the last body that was sent of a key, compressed, to make a patch of the next one. When it is full it forgets some: their
// next version goes whole.
type bases struct {
	codec *compress.Codec
	limit int
	bytes int
	sent  map[store.Key][]byte
}

func newBases(codec *compress.Codec, limit int) *bases {
	return &bases{codec: codec, limit: limit, sent: map[store.Key][]byte{}}
}

// get returns the last body sent, or nil.
func (b *bases) get(k store.Key) []byte {
	packed, ok := b.sent[k]
	if !ok {
		return nil
	}
	body, err := b.codec.Decode(nil, packed, store.MaxBodyBytes)
	if err != nil {
		return nil // own bytes: cannot be; a whole body is right in any case
	}
	return body
}

// put notes the body that was just encoded for the stream: none for a tombstone.
func (b *bases) put(k store.Key, body []byte) {
	b.drop(k)
	if b.limit == 0 || len(body) == 0 || len(body) > wire.MaxPatchBody {
		return
	}
	packed := b.codec.Encode(nil, body)
	b.sent[k] = packed
	b.bytes += len(packed)
	for other := range b.sent {
		if b.bytes <= b.limit {
			return
		}
		b.drop(other)
	}
}

func (b *bases) drop(k store.Key) {
	b.bytes -= len(b.sent[k])
	delete(b.sent, k)
}
