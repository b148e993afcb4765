package delta

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// What was made for all senders goes when they have had their time for it, or when it is too much;
// the bodies for later patches stay longer, within bounds.
func TestSharedForgets(t *testing.T) {
	s := NewShared()
	keep := func(n, body, packed int) {
		at := step{to: store.HashBody(int64(n), nil)}
		p, _ := s.piece(at)
		p.body = make([]byte, body)
		s.store(at, p, make([]byte, packed))
	}
	synctest.Test(t, func(t *testing.T) {
		for n := range 100 {
			keep(n, 1000, 100)
		}
		if len(s.pieces) != 100 || len(s.bases) != 100 {
			t.Errorf("%d pieces and %d bodies of 100 changes", len(s.pieces), len(s.bases))
		}
		time.Sleep(pieceTime - time.Second)
		keep(100, 1000, 100)
		time.Sleep(time.Second)
		if s.Rest(); len(s.pieces) != 1 || len(s.kept) != 1 || s.bytes != 1000 || len(s.bases) != 101 {
			t.Errorf("a minute later %d pieces of %d bytes and %d bodies", len(s.pieces), s.bytes, len(s.bases))
		}
		for n := range 10 {
			keep(1000+n, pieceBytes/4, 1)
			keep(2000+n, 1, baseBytes/4)
		}
		if len(s.pieces) > 8 || s.bytes > pieceBytes {
			t.Errorf("%d pieces of %d bytes", len(s.pieces), s.bytes)
		}
		if len(s.bases) != 4 || len(s.order) != 4 || s.packed > baseBytes {
			t.Errorf("%d bodies of %d bytes", len(s.bases), s.packed)
		}
	})
}
