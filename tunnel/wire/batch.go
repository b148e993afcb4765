package wire

import (
	"encoding/binary"
	"fmt"
	"strings"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
	"skerry.dev/skerry/store/compress"
)

// Slots is the number of keys that both ends of a stream store. A key crosses once, and is a number
// of one or two bytes after that. It bounds the memory: a new key takes the place of the oldest.
const Slots = 512

// Flags of an entry.
const (
	entryPatch      = 1 << 0 // the body is a patch against the last one of this key on this stream
	entryTombstone  = 1 << 1
	entryReport     = 1 << 2 // the hash leaves the report's time out; of a tombstone: it is intended
	entrySlot       = 1 << 3 // the key is a slot's
	entryRevision   = 1 << 4 // the revision differs from that of the entry before
	entryGeneration = 1 << 5 // the generation differs from that of the entry before
	entryTop        = 3 << 6 // of a tombstone its store.Removal, of a value its class
	topShift        = 6
)

// Flags of a batch.
const (
	batchPartial = 1 << 0 // more of the same position follows
	batchZstd    = 1 << 1
	batchSplit   = 1 << 2 // heads as they are, then the bodies as one zstd frame
)

// classes are what of a value's priority crosses.
var classes = [4]store.Priority{store.PriorityState, store.PriorityError, store.PriorityAssociated, store.PriorityEvent}

func classOf(p store.Priority) byte {
	for class, is := range classes {
		if p == is {
			return byte(class)
		}
	}
	return 0 // a changed condition is a state
}

// Item is an entry on its way. Its Hash is not sent: both sides compute it.
type Item struct {
	Entry store.Entry
	// Report is true when the hash is store.HashReport instead of store.HashBody.
	Report bool
	// Patch, when not nil, is sent instead of Entry.Body.
	Patch []byte
	// Packed, if not nil, is the zstd frame of what is sent, made once for several streams.
	Packed []byte
	// Exact is true if Entry.Hash is the hash of Entry.Body. Then later versions may be patches
	// against it.
	Exact bool
}

// Bytes returns what is sent of the body: the patch, if there is one.
func (it Item) Bytes() []byte {
	if it.Patch != nil {
		return it.Patch
	}
	return it.Entry.Body
}

// Size returns about how many bytes the entry takes in a batch before compression.
func (it Item) Size() int { return entrySize + len(it.Bytes()) }

// entrySize is what the head of an entry takes, about.
const entrySize = 8

// hash is what the receiver will compute.
func (it Item) hash() store.Hash {
	switch {
	case it.Entry.Tombstone:
		return store.Hash{}
	case it.Report:
		return store.HashReport(it.Entry.Generation, it.Entry.Body)
	default:
		return store.HashBody(it.Entry.Generation, it.Entry.Body)
	}
}

// Encoder makes the batches of one stream. It belongs to the stream's writer.
type Encoder struct {
	codec *compress.Codec
	slots *compactmap.Index[store.Key, sent]
	ring  []*sent // grows up to Slots
	next  int
	last  int64 // revision of the batch before
}

// sent is a key that has crossed, and the hash of its last body when that is known to be exact.
type sent struct {
	key  store.Key
	slot int
	hash store.Hash
}

func (s *sent) place() *store.Key { return &s.key }

// NewEncoder returns the encoder of a new stream.
func NewEncoder(codec *compress.Codec) *Encoder {
	return &Encoder{codec: codec, slots: compactmap.NewIndex((*sent).place)}
}

// Knows reports whether the key has a slot: only then a patch against the last body that was
// encoded of it may be sent.
func (e *Encoder) Knows(k store.Key) bool {
	return e.slots.Get(k) != nil
}

// Base is the hash of the body that was encoded last of a key; zero where there is none to make a
// patch against.
func (e *Encoder) Base(k store.Key) store.Hash {
	if s := e.slots.Get(k); s != nil {
		return s.hash
	}
	return store.Hash{}
}

// Encode returns the payload of a batch that ends at a revision, or, when partial, is followed by
// more of it.
func (e *Encoder) Encode(items []Item, through int64, partial bool) []byte {
	raw := binary.AppendVarint(nil, through-e.last)
	e.last = through
	raw = binary.AppendUvarint(raw, uint64(len(items)))
	revision, generation, key := through, int64(0), ""
	for i := range items {
		raw, key = e.header(raw, &items[i], revision, generation, key)
		revision, generation = items[i].Entry.Revision, items[i].Entry.Generation
	}
	flags := byte(0)
	if partial {
		flags = batchPartial
	}
	if len(items) == 1 && items[0].Packed != nil {
		return append(append([]byte{flags | batchSplit}, raw...), items[0].Packed...)
	}
	for _, it := range items {
		raw = append(raw, it.Bytes()...)
	}
	if packed := e.codec.Encode([]byte{flags | batchZstd}, raw); len(packed) <= len(raw) {
		return packed
	}
	return append([]byte{flags}, raw...)
}

func (e *Encoder) header(raw []byte, it *Item, revision, generation int64, before string) ([]byte, string) {
	place := e.slots.Get(it.Entry.Key)
	known := place != nil
	if !known {
		if it.Patch != nil { // an entry before it in this batch has taken the slot
			it.Patch, it.Packed = nil, nil
		}
	}
	flags := flag(it.Patch != nil, entryPatch) | flag(it.Entry.Tombstone, entryTombstone) |
		flag(it.Report || it.Entry.Tombstone && it.Entry.Intended, entryReport) | flag(known, entrySlot) |
		flag(it.Entry.Revision != revision, entryRevision) | flag(it.Entry.Generation != generation, entryGeneration)
	if it.Entry.Tombstone {
		flags |= byte(it.Entry.Removal) << topShift
	} else {
		flags |= classOf(it.Entry.Priority) << topShift
	}
	raw = append(raw, flags)
	key := it.Entry.Key.Encode()
	if known {
		raw = binary.AppendUvarint(raw, uint64(place.slot))
	} else {
		shared := common([]byte(before), []byte(key))
		raw = appendString(binary.AppendUvarint(raw, uint64(shared)), key[shared:])
		place = e.remember(it.Entry.Key)
	}
	if place.hash = (store.Hash{}); it.Exact {
		place.hash = it.Entry.Hash
	}
	if flags&entryRevision != 0 {
		raw = binary.AppendVarint(raw, it.Entry.Revision-revision)
	}
	if flags&entryGeneration != 0 {
		raw = binary.AppendVarint(raw, it.Entry.Generation-generation)
	}
	if !it.Entry.Tombstone {
		raw = binary.AppendUvarint(raw, uint64(len(it.Bytes())))
	}
	return raw, key
}

func (e *Encoder) remember(k store.Key) *sent {
	s := &sent{key: k, slot: e.next}
	if s.slot == len(e.ring) {
		e.ring = append(e.ring, s)
	} else {
		e.slots.Delete(e.ring[s.slot].key)
		e.ring[s.slot] = s
	}
	e.slots.Put(s)
	e.next = (s.slot + 1) % Slots
	return s
}

// Base returns the body that the receiver has of a key, whose hash must be the given one. It is
// called while a batch is decoded.
type Base func(k store.Key, h store.Hash) ([]byte, error)

// Decoder reads the batches of one stream.
type Decoder struct {
	codec *compress.Codec
	base  Base
	ring  []slot // grows up to Slots
	next  int
	last  int64
	sizes []int // of the entries of the last batch
}

// Size is what entry i of the batch that was decoded last took in it before compression, about.
func (d *Decoder) Size(i int) int { return d.sizes[i] }

type slot struct {
	key  string // encoded
	hash store.Hash
}

// NewDecoder returns the decoder of a new stream. Without base, patches are refused.
func NewDecoder(codec *compress.Codec, base Base) *Decoder { return &Decoder{codec: codec, base: base} }

// Decode reads a batch: its entries with bodies and hashes, the revision that it ends at, and
// whether more of it follows.
func (d *Decoder) Decode(payload []byte) (entries []store.Entry, through int64, partial bool, err error) {
	if len(payload) == 0 {
		return nil, 0, false, fmt.Errorf("%w: an empty batch", ErrMalformed)
	}
	flags, raw := payload[0], payload[1:]
	if flags&^byte(batchPartial|batchZstd|batchSplit) != 0 || flags&(batchZstd|batchSplit) == batchZstd|batchSplit {
		return nil, 0, false, fmt.Errorf("%w: flags %x of a batch", ErrMalformed, flags)
	}
	if flags&batchZstd != 0 {
		if raw, err = d.codec.Decode(nil, raw, MaxRaw); err != nil {
			return nil, 0, false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	c := cursor{rest: raw}
	d.last += c.int("the revision")
	n := c.count(min(MaxEntries, len(c.rest)), "the number of entries")
	heads := make([]head, 0, n)
	h := head{Entry: store.Entry{Revision: d.last}}
	for len(heads) < n && c.err == nil {
		h = d.header(&c, h)
		heads = append(heads, h)
	}
	if flags&batchSplit != 0 && c.err == nil {
		if raw, err = d.codec.Decode(nil, c.rest, MaxRaw); err != nil {
			return nil, 0, false, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		c.rest = raw
	}
	d.sizes = d.sizes[:0]
	for i := range heads {
		d.sizes = append(d.sizes, entrySize+heads[i].size)
		if err := d.body(&c, &heads[i]); err != nil {
			return nil, 0, false, err
		}
		entries = append(entries, heads[i].Entry)
	}
	return entries, d.last, flags&batchPartial != 0, c.end()
}

// head is an entry whose body is still to come.
type head struct {
	store.Entry
	flags   byte
	encoded string
	slot    int
	base    store.Hash // of the last body of this key on this stream
	size    int
}

func (d *Decoder) header(c *cursor, before head) head {
	h := head{Entry: store.Entry{Revision: before.Revision, Generation: before.Generation}, flags: c.byte()}
	if h.Tombstone = h.flags&entryTombstone != 0; h.Tombstone {
		h.Removal, h.Priority, h.Intended = store.Removal(
			h.flags>>topShift,
		), store.PriorityError, h.flags&entryReport != 0
	} else {
		h.Priority = classes[h.flags>>topShift]
	}
	if h.flags&entrySlot != 0 {
		if h.slot = c.count(len(d.ring)-1, "a slot"); c.err == nil {
			h.encoded, h.base = d.ring[h.slot].key, d.ring[h.slot].hash
		}
	} else {
		shared := c.count(len(before.encoded), "the shared part of a key")
		rest := c.bytes(c.count(store.MaxKeyBytes-shared, "the length of a key"), "a key")
		h.encoded = before.encoded[:shared] + string(rest)
		h.slot = d.next
		if d.next == len(d.ring) {
			d.ring = append(d.ring, slot{})
		}
		d.ring[d.next] = slot{key: strings.Clone(h.encoded)}
		d.next = (d.next + 1) % Slots
	}
	if h.flags&entryRevision != 0 {
		h.Revision += c.int("a revision")
	}
	if h.flags&entryGeneration != 0 {
		h.Generation += c.int("a generation")
	}
	if !h.Tombstone {
		h.size = c.count(store.MaxBodyBytes, "the length of a body")
	}
	key, err := store.DecodeKey(h.encoded)
	if err != nil && c.err == nil {
		c.fail(err.Error())
	}
	h.Key = key
	return h
}

func (d *Decoder) body(c *cursor, h *head) error {
	bytes := c.bytes(h.size, "a body")
	if c.err != nil {
		return c.err
	}
	if h.Tombstone {
		d.keep(h)
		return nil
	}
	h.Body = bytes
	if h.flags&entryPatch != 0 {
		if d.base == nil || h.base == (store.Hash{}) {
			return fmt.Errorf("%w: a patch without a base for %s", ErrMalformed, h.Key)
		}
		base, err := d.base(h.Key, h.base)
		if err != nil {
			return err
		}
		if h.Body, err = ApplyPatch(base, bytes); err != nil {
			return err
		}
	}
	h.Hash = Item{Entry: h.Entry, Report: h.flags&entryReport != 0}.hash()
	d.keep(h)
	return nil
}

// keep records what the receiver has of the key, unless a later entry in the batch has taken the
// slot.
func (d *Decoder) keep(h *head) {
	if s := &d.ring[h.slot]; s.key == h.encoded {
		s.hash = h.Hash
	}
}
