package wire

import "encoding/binary"

// MaxTraces bounds the traces of one batch: more entries are not followed.
const MaxTraces = 32

// TraceIDs are the IDs of a trace and of its last span, as W3C's traceparent has them. Both are not
// zero. Only what is sampled crosses.
type TraceIDs struct {
	Trace [16]byte
	Span  [8]byte
}

// valid reports whether the IDs may be used.
func (t TraceIDs) valid() bool { return t.Trace != [16]byte{} && t.Span != [8]byte{} }

// Trace says to which trace an entry of the next batch belongs.
type Trace struct {
	// Entry is the place of the entry in the batch, from 0.
	Entry int
	TraceIDs
}

// EncodeTraces returns the payload of a frame of type TypeTrace. Entries must be ascending.
func EncodeTraces(list []Trace) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for _, t := range list {
		b = binary.AppendUvarint(b, uint64(t.Entry))
		b = append(append(b, t.Trace[:]...), t.Span[:]...)
	}
	return b
}

// DecodeTraces is the inverse of EncodeTraces.
func DecodeTraces(b []byte) ([]Trace, error) {
	c := cursor{rest: b}
	n := c.count(MaxTraces, "the number of traces")
	list := make([]Trace, 0, n)
	for last := -1; len(list) < n && c.err == nil; {
		t := Trace{Entry: c.count(MaxEntries-1, "the place of a traced entry")}
		copy(t.Trace[:], c.bytes(len(t.Trace), "a trace's ID"))
		copy(t.Span[:], c.bytes(len(t.Span), "a span's ID"))
		if c.err == nil && (t.Entry <= last || !t.valid()) {
			c.fail("a trace without IDs, or out of order")
		}
		last = t.Entry
		list = append(list, t)
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return list, nil
}
