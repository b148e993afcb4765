package wire

import (
	"encoding/binary"
	"fmt"

	"skerry.dev/skerry/store"
)

// cursor reads fields of a payload. The first error sticks, and every later read gives zero values.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
	c.rest = nil
}

func (c *cursor) byte() byte {
	b := c.bytes(1, "a byte")
	if b == nil {
		return 0
	}
	return b[0]
}

// bytes returns the next n bytes, which are not copied.
func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil || n < 0 || n > len(c.rest) {
		c.fail(what + " is cut off")
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// count reads a length or a number of things of at most limit.
func (c *cursor) count(limit int, what string) int {
	v, n := binary.Uvarint(c.rest)
	if c.err != nil || n <= 0 || limit < 0 || v > uint64(limit) {
		c.fail(what)
		return 0
	}
	c.rest = c.rest[n:]
	return int(v)
}

func (c *cursor) int(what string) int64 {
	v, n := binary.Varint(c.rest)
	if c.err != nil || n <= 0 {
		c.fail(what)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// digestBytes is the length of a digest.
const digestBytes = 16

func (c *cursor) digest() store.Digest {
	b := c.bytes(digestBytes, "a digest")
	if b == nil {
		return store.Digest{}
	}
	return store.Digest{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}

func (c *cursor) shortDigest() store.Digest {
	b := c.bytes(shortBytes, "a digest")
	if b == nil {
		return store.Digest{}
	}
	return store.Digest{Lo: uint64(binary.BigEndian.Uint16(b))}
}

// end returns the error so far, or that bytes are left over.
func (c *cursor) end() error {
	if c.err == nil && len(c.rest) > 0 {
		c.fail(fmt.Sprintf("%d bytes too many", len(c.rest)))
	}
	return c.err
}

func appendDigest(b []byte, d store.Digest) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, d.Hi), d.Lo)
}
