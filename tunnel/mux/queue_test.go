package mux

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestQueue: a queue has what was added and not yet taken, in order, whatever the sizes.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	var want, next []byte
	for i := range 20_000 {
		most := []int{10, 5_000, 100_000}[i/100%3]
		if r.IntN(2) == 0 && q.n < 1<<20 {
			next = next[:0]
			for range r.IntN(most) {
				next = append(next, byte(len(want)+len(next)*7))
			}
			q.add(next)
			want = append(want, next...)
		} else {
			got := make([]byte, r.IntN(most))
			n := q.take(got)
			if n != min(len(got), len(want)) || !bytes.Equal(got[:n], want[:n]) {
				t.Fatalf("step %d: %d bytes of %d, or others than were added", i, n, len(want))
			}
			want = want[n:]
		}
		if q.n != len(want) {
			t.Fatalf("step %d: it has %d bytes, not %d", i, q.n, len(want))
		}
	}
	q.take(make([]byte, q.n))
	if len(q.blocks) > 0 {
		t.Errorf("an empty queue holds %d blocks", len(q.blocks))
	}
}
