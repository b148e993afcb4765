package wire

import (
	"encoding/binary"
	"fmt"

	"skerry.dev/skerry/store"
)

// Resume is a receiver's first message: its position, and the digest of what it has.
type Resume struct {
	Position store.Position
	Root     store.Digest
	// Bases is true if the receiver can look up the bodies that it has, so that patches may be
	// sent.
	Bases bool
	// Short is true when it answers with short digests where it is asked for them.
	Short bool
	// Traces is true when it wants to be told which entries belong to a trace.
	Traces bool
}

// Encode returns the payload.
func (m Resume) Encode() []byte {
	b := []byte{Version, flag(m.Bases, resumeBases) | flag(m.Short, resumeShort) | flag(m.Traces, resumeTraces)}
	return appendDigest(appendPosition(b, m.Position), m.Root)
}

// DecodeResume is the inverse of Resume.Encode.
func DecodeResume(b []byte) (Resume, error) {
	c := cursor{rest: b}
	flags := c.opening()
	m := Resume{Bases: flags&resumeBases != 0, Short: flags&resumeShort != 0, Traces: flags&resumeTraces != 0}
	m.Position, m.Root = c.position(), c.digest()
	return m, c.end()
}

// Start is the sender's answer to Resume: its position, and whether it will compare digests first.
type Start struct {
	Head    store.Position
	Root    store.Digest
	Compare bool
	// Shared is the revision up to which the receiver's history is the sender's, see store.Feed.
	Shared int64
}

// Encode returns the payload.
func (m Start) Encode() []byte {
	b := []byte{Version, flag(m.Compare, startCompare)}
	return binary.AppendVarint(appendDigest(appendPosition(b, m.Head), m.Root), m.Shared)
}

// DecodeStart is the inverse of Start.Encode.
func DecodeStart(b []byte) (Start, error) {
	c := cursor{rest: b}
	m := Start{Compare: c.opening()&startCompare != 0}
	m.Head, m.Root, m.Shared = c.position(), c.digest(), c.int("the shared revision")
	return m, c.end()
}

// opening reads the version and the flags that Resume and Start begin with. It returns the flags.
func (c *cursor) opening() byte {
	if v := c.byte(); c.err == nil && v != Version {
		c.fail(fmt.Sprintf("protocol version %d, this side speaks %d", v, Version))
	}
	return c.byte()
}

// Flags of messages.
const (
	resumeBases  = 1 << 0
	resumeShort  = 1 << 1
	resumeTraces = 1 << 2

	startCompare = 1 << 0

	askShort = 1 << 7 // in the byte of the level

	answerMore  = 1 << 0
	answerShort = 1 << 1
)

// flag returns the flag when it is set, else 0.
func flag(set bool, f byte) byte {
	if set {
		return f
	}
	return 0
}

func appendPosition(b []byte, p store.Position) []byte {
	b = append(b, p.Incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Era))
	return binary.AppendVarint(b, p.Revision)
}

func (c *cursor) position() (p store.Position) {
	copy(p.Incarnation[:], c.bytes(16, "the incarnation"))
	if era := c.bytes(8, "the era"); c.err == nil {
		p.Era = store.Era(binary.BigEndian.Uint64(era))
	}
	p.Revision = c.int("the revision")
	return p
}

// Ack says that the receiver has stored the next Frames batches durably and is at Revision.
type Ack struct {
	Frames   int
	Revision int64
}

// Encode returns the payload.
func (m Ack) Encode() []byte {
	return binary.AppendVarint(binary.AppendUvarint(nil, uint64(m.Frames)), m.Revision)
}

// DecodeAck is the inverse of Ack.Encode.
func DecodeAck(b []byte) (Ack, error) {
	c := cursor{rest: b}
	m := Ack{Frames: c.count(1<<20, "the number of frames"), Revision: c.int("the revision")}
	return m, c.end()
}

// Level is the depth of a comparison.
type Level byte

// The levels: the digests of all outer buckets, of the inner buckets of some outer ones, the
// members of some inner ones.
const (
	LevelOuter Level = iota
	LevelInner
	LevelMembers
)

// Ask requests digests or members. Buckets are outer numbers, or outer*Fanout+inner for members.
type Ask struct {
	Level   Level
	Buckets []int
	// Short asks for short digests, of who has said that it knows them.
	Short bool
}

// MaxBuckets bounds the buckets in one Ask.
const MaxBuckets = store.Fanout * store.Fanout

// Encode returns the payload.
func (m Ask) Encode() []byte {
	b := binary.AppendUvarint([]byte{byte(m.Level) | flag(m.Short, askShort)}, uint64(len(m.Buckets)))
	for _, n := range m.Buckets {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// DecodeAsk is the inverse of Ask.Encode.
func DecodeAsk(b []byte) (Ask, error) {
	c := cursor{rest: b}
	level := c.byte()
	m := Ask{Level: Level(level &^ askShort), Short: level&askShort != 0}
	limit := store.Fanout
	if m.Level == LevelMembers {
		limit = MaxBuckets
	} else if m.Level > LevelMembers {
		c.fail("unknown level")
	}
	for n := c.count(limit, "the number of buckets"); n > 0 && c.err == nil; n-- {
		m.Buckets = append(m.Buckets, c.count(limit-1, "a bucket"))
	}
	return m, c.end()
}

// Answer is the response: 64 digests for each requested bucket, or members. Members may come in
// parts.
type Answer struct {
	Digests []store.Digest
	Members []store.KeyHash
	More    bool
	// Short says that of the digests there is only the part that Short of a digest leaves.
	Short bool
}

// shortBytes is the length of a short digest. One of 65,536 pairs that differ looks alike, which
// the sender finds out at the end.
const shortBytes = 2

// Short returns the part of a digest that a short digest has.
func Short(d store.Digest) store.Digest { return store.Digest{Lo: d.Lo % (1 << (8 * shortBytes))} }

// Encode returns the payload, not compressed.
func (m Answer) Encode() []byte {
	b := []byte{flag(m.More, answerMore) | flag(m.Short, answerShort)}
	b = binary.AppendUvarint(b, uint64(len(m.Digests)))
	for _, d := range m.Digests {
		if m.Short {
			b = binary.BigEndian.AppendUint16(b, uint16(d.Lo))
		} else {
			b = appendDigest(b, d)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(m.Members)))
	for _, kh := range m.Members {
		b = appendString(b, kh.Key.Encode())
		b = append(b, kh.Hash[:]...)
	}
	return b
}

// DecodeAnswer is the inverse of Answer.Encode.
func DecodeAnswer(b []byte) (Answer, error) {
	c := cursor{rest: b}
	flags := c.byte()
	m := Answer{More: flags&answerMore != 0, Short: flags&answerShort != 0}
	read, size := c.digest, digestBytes
	if m.Short {
		read, size = c.shortDigest, shortBytes
	}
	if n := c.count(min(MaxBuckets, len(c.rest)/size), "the number of digests"); n > 0 {
		m.Digests = make([]store.Digest, n)
		for i := range m.Digests {
			m.Digests[i] = read()
		}
	}
	for n := c.count(MaxEntries, "the number of members"); n > 0 && c.err == nil; n-- {
		k, err := store.DecodeKey(string(c.bytes(c.count(store.MaxKeyBytes, "the length of a key"), "a key")))
		if err != nil {
			c.fail(err.Error())
		}
		kh := store.KeyHash{Key: k}
		copy(kh.Hash[:], c.bytes(16, "a hash"))
		m.Members = append(m.Members, kh)
	}
	return m, c.end()
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
