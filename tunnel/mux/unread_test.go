package mux

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestUnread: what comes out is what went in, in any pieces, and little more is held.
func TestUnread(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var u unread
		var want bytes.Buffer
		appended := 0 // since it was empty
		for range 200 {
			if random.IntN(2) == 0 {
				piece := make([]byte, 1+random.IntN(1<<random.IntN(16)))
				for i := range piece {
					piece[i] = byte(random.Uint32())
				}
				u.append(piece)
				want.Write(piece)
				appended += len(piece)
			} else {
				got := make([]byte, random.IntN(1<<random.IntN(17)))
				n := u.read(got)
				if next := want.Next(len(got)); !bytes.Equal(got[:n], next) {
					t.Fatalf("read %d bytes of %d, or others", n, len(next))
				}
			}
			held := 0
			for _, c := range u.chunks {
				held += cap(c)
			}
			if u.bytes != want.Len() || held > u.bytes+2*chunkBytes || held > 3*appended || u.bytes == 0 && held > 0 {
				t.Fatalf("%d bytes are unread, want %d; %d are held, %d were appended", u.bytes, want.Len(), held, appended)
			}
			if u.bytes == 0 {
				appended = 0
			}
		}
	}
}
