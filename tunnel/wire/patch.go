package wire

import (
	"encoding/binary"
	"hash/maphash"

	"skerry.dev/skerry/store"
)

// MaxPatchBody bounds the bodies that patches are made for. Making one needs memory of twice its
// size for a moment.
const MaxPatchBody = 64 << 10

const (
	window   = 8 // bytes that must agree before a match elsewhere in the base is tried
	minAlign = 4 // bytes that must agree in place
)

// MakePatch returns the steps that make next out of base: copies of ranges of base, and literal
// bytes. It is exact, so hashes stay the same. ok is false if a patch would save less than a
// quarter.
func MakePatch(base, next []byte) (patch []byte, ok bool) {
	if len(base) < window || len(next) < window || len(base) > MaxPatchBody || len(next) > MaxPatchBody {
		return nil, false
	}
	m := matcher{base: base, next: next, index: indexWindows(base)}
	for i := 0; i < len(next); {
		at, n := m.find(i)
		if n == 0 {
			i++
			continue
		}
		m.emit(i, at, n)
		i += n
	}
	m.literal(len(next))
	return m.out, len(m.out) < len(next)*3/4
}

// matcher is a patch in the making. Everything of next before done is written. expect is where in
// base the bytes at done would be if the two had the same length here.
type matcher struct {
	base, next   []byte
	index        windows
	out          []byte
	done, expect int
}

// find returns the longest of two matches for next[i:]: in place, or of a whole window elsewhere.
func (m *matcher) find(i int) (at, n int) {
	if inPlace := m.expect + i - m.done; inPlace < len(m.base) {
		if n := common(m.base[inPlace:], m.next[i:]); n >= minAlign {
			return inPlace, n
		}
	}
	if i+window > len(m.next) {
		return 0, 0
	}
	at, ok := m.index.lookup(m.next[i : i+window])
	if !ok {
		return 0, 0
	}
	if n := common(m.base[at:], m.next[i:]); n >= window {
		return at, n
	}
	return 0, 0
}

// emit writes the bytes since done as a literal, then a copy. Copies name their place relative to
// where it was expected.
func (m *matcher) emit(i, at, n int) {
	m.literal(i)
	m.out = binary.AppendUvarint(m.out, uint64(n)<<1)
	m.out = binary.AppendVarint(m.out, int64(at-m.expect))
	m.done, m.expect = i+n, at+n
}

func (m *matcher) literal(end int) {
	if end == m.done {
		return
	}
	lit := m.next[m.done:end]
	m.out = binary.AppendUvarint(m.out, uint64(len(lit))<<1|1)
	m.out = append(m.out, lit...)
	m.expect += len(lit)
	m.done = end
}

func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// windows finds places of a base by the hash of the window there. Of several, the first wins.
type windows struct {
	seed  maphash.Seed
	slots []int32 // place+1
}

func indexWindows(base []byte) windows {
	size := 16
	for size < len(base) {
		size <<= 1
	}
	w := windows{maphash.MakeSeed(), make([]int32, size)}
	for i := 0; i+window <= len(base); i++ {
		if slot := w.slot(base[i : i+window]); *slot == 0 {
			*slot = int32(i + 1)
		}
	}
	return w
}

func (w windows) slot(b []byte) *int32 {
	return &w.slots[maphash.Bytes(w.seed, b)&uint64(len(w.slots)-1)]
}

func (w windows) lookup(b []byte) (int, bool) {
	at := *w.slot(b)
	return int(at) - 1, at > 0
}

// ApplyPatch makes the next version of a body. It returns ErrMalformed for a patch that leaves the
// base, or that makes more than store.MaxBodyBytes.
func ApplyPatch(base, patch []byte) ([]byte, error) {
	c := cursor{rest: patch}
	out := make([]byte, 0, min(len(base)+len(patch), store.MaxBodyBytes))
	expect := 0
	for len(c.rest) > 0 {
		head := c.count(store.MaxBodyBytes<<1|1, "a patch step")
		n := head >> 1
		if n > store.MaxBodyBytes-len(out) {
			c.fail("a patch makes too large a body")
			break
		}
		if head&1 == 1 {
			out = append(out, c.bytes(n, "a literal")...)
			expect += n
			continue
		}
		shift := c.int("a copy's place")
		at := int64(expect) + shift
		if c.err != nil || shift > store.MaxBodyBytes || at < 0 || at+int64(n) > int64(len(base)) {
			c.fail("a copy outside of the base")
			break
		}
		out = append(out, base[at:at+int64(n)]...)
		expect = int(at) + n
	}
	return out, c.end()
}
