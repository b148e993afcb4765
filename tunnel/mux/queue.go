package mux

import (
	"slices"
	"sync"
)

// queue holds bytes until they are read, in blocks that all queues share: what is empty holds none,
// and what grows copies nothing. The zero queue is empty.
type queue struct {
	blocks []*block
	at     int // where the first byte is in the first block
	n      int // how many there are
}

type block [16 << 10]byte

var blocks = sync.Pool{New: func() any { return new(block) }}

// add copies bytes behind those that are there.
func (q *queue) add(p []byte) {
	for len(p) > 0 {
		end := q.at + q.n
		if end == len(q.blocks)*len(block{}) {
			q.blocks = append(q.blocks, blocks.Get().(*block))
		}
		n := copy(q.blocks[len(q.blocks)-1][end%len(block{}):], p)
		q.n += n
		p = p[n:]
	}
}

// take copies the first bytes, and drops them.
func (q *queue) take(p []byte) (n int) {
	for n < len(p) && q.n > 0 {
		got := copy(p[n:], q.blocks[0][q.at:min(q.at+q.n, len(block{}))])
		n += got
		q.at += got
		q.n -= got
		if q.at == len(block{}) || q.n == 0 {
			blocks.Put(q.blocks[0])
			q.blocks, q.at = slices.Delete(q.blocks, 0, 1), 0
		}
	}
	return n
}

// clear drops everything.
func (q *queue) clear() {
	for _, b := range q.blocks {
		blocks.Put(b)
	}
	*q = queue{}
}
