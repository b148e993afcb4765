package mux

import "sync"

// chunkBytes is the size of a full chunk of what a stream has not read yet.
const chunkBytes = 16 << 10

// chunks recycles full chunks, each of which has the capacity chunkBytes.
var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// unread is what a stream has received and not read yet. It holds at most two chunks more than
// that, and nothing when it is empty. The zero value is empty.
type unread struct {
	chunks [][]byte
	taken  int // of the first chunk, which has more
	bytes  int // not read, of all
}

// append copies a piece behind what is there. A chunk is at most twice as large as the one before,
// so that little data takes little memory.
func (u *unread) append(piece []byte) {
	u.bytes += len(piece)
	size := 0
	if n := len(u.chunks); n > 0 {
		last := u.chunks[n-1]
		fits := min(len(piece), cap(last)-len(last))
		u.chunks[n-1] = append(last, piece[:fits]...)
		piece, size = piece[fits:], 2*cap(last)
	}
	for len(piece) > 0 {
		chunk := newChunk(max(size, len(piece)))
		fits := min(len(piece), cap(chunk))
		u.chunks = append(u.chunks, append(chunk, piece[:fits]...))
		piece, size = piece[fits:], 2*cap(chunk)
	}
}

// read moves as much as there is room for to b.
func (u *unread) read(b []byte) (n int) {
	for n < len(b) && len(u.chunks) > 0 {
		first := u.chunks[0]
		copied := copy(b[n:], first[u.taken:])
		n += copied
		if u.taken += copied; u.taken == len(first) {
			freeChunk(first)
			u.chunks[0], u.chunks, u.taken = nil, u.chunks[1:], 0
		}
	}
	if u.bytes -= n; u.bytes == 0 {
		u.chunks = nil
	}
	return n
}

func newChunk(size int) []byte {
	if size < chunkBytes {
		return make([]byte, 0, size)
	}
	return chunks.Get().(*[chunkBytes]byte)[:0]
}

func freeChunk(b []byte) {
	if cap(b) == chunkBytes {
		chunks.Put((*[chunkBytes]byte)(b[:chunkBytes]))
	}
}
