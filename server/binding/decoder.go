package binding

import (
	"encoding/binary"
	"fmt"
)

// decoder reads a stored form. After the first error it returns zeroes; done returns the error.
type decoder struct {
	rest []byte
	err  error
}

func newDecoder(stored []byte, kind byte) *decoder {
	d := &decoder{rest: stored}
	switch {
	case len(stored) > MaxStored:
		d.bad("it is longer than 1 MiB")
	case len(stored) < 2 || stored[1] != kind:
		d.bad("it is of another kind")
	case stored[0] != form:
		d.bad("its form is another one; a newer version of the center has written it")
	default:
		d.rest = stored[2:]
	}
	return d
}

func (d *decoder) bad(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrStored, why)
	}
	d.rest = nil
}

func (d *decoder) done() error {
	if d.err == nil && len(d.rest) > 0 {
		d.bad("something follows it")
	}
	return d.err
}

// uint reads a number that is at most so large.
func (d *decoder) uint(most uint64) uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > most || size > 1 && d.rest[size-1] == 0 {
		d.bad("it ends early, or a number is too large")
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) fixed() uint64 {
	if len(d.rest) < 8 {
		d.bad("it ends early")
		return 0
	}
	n := binary.BigEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return n
}

// flags reads a byte of which so many bits may be set.
func (d *decoder) flags(bits int) (a, b, c bool) {
	if len(d.rest) < 1 || d.rest[0]>>bits != 0 {
		d.bad("it ends early, or has unknown flags")
		return false, false, false
	}
	f := d.rest[0]
	d.rest = d.rest[1:]
	return f&1 != 0, f&2 != 0, f&4 != 0
}

// count reads how many elements follow, of which each takes so many bytes at least. It is checked
// before anything is allocated.
func (d *decoder) count(most, size int) int {
	n := d.uint(uint64(most))
	if n > uint64(len(d.rest)/size) {
		d.bad("it ends early")
		return 0
	}
	return int(n)
}

func (d *decoder) uid() string {
	n := int(d.uint(maxUID))
	packed := n == 0
	if packed {
		n = 16
	}
	if len(d.rest) < n {
		d.bad("it ends early")
		return ""
	}
	raw := d.rest[:n]
	d.rest = d.rest[n:]
	if packed {
		return unpackUID(raw)
	}
	if _, ok := packUID(string(raw)); ok {
		d.bad("a UID is not packed")
	}
	return string(raw)
}
