package delta

import (
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/wire"
)

// Bounds of what is kept. A change reaches all connected receivers within moments, so a piece is of
// use to other senders for a short time only. The body that it leads to is needed, compressed,
// until the next version.
const (
	pieceBytes = 6 << 20
	pieceTime  = time.Minute
	baseBytes  = 2 << 20
)

// Shared renders bodies for the wire once for all senders of a process that send the same objects.
// A change on a thousand targets is rendered, made a patch and compressed once. It has only bodies
// whose hash is right, by that hash. What it has evicted is rendered again. It may be used
// concurrently.
type Shared struct {
	codec *compress.Codec

	mu     sync.RWMutex
	pieces map[step]*piece
	kept   []kept                // those that are made, oldest first
	bytes  int                   // of these
	bases  map[store.Hash][]byte // bodies, compressed
	order  []store.Hash          // of bases, oldest first
	packed int                   // bytes of bases
}

// kept is a piece that other senders may use.
type kept struct {
	at   step
	made *piece
	when time.Time
}

// step leads from a body that a receiver has, or from none, to another.
type step struct{ from, to store.Hash }

// piece is what crosses for a step.
type piece struct {
	made       chan struct{} // closed when the rest is there; a mutex would hand a thousand senders on one by one
	ok         bool
	generation int64
	body       []byte
	patch      []byte
	packed     []byte
}

func (p *piece) size() int { return len(p.body) + len(p.packed) + len(p.patch) }

// NewShared returns an empty Shared.
func NewShared() *Shared {
	return &Shared{codec: compress.Thorough(), pieces: map[step]*piece{}, bases: map[store.Hash][]byte{}}
}

// item renders an entry for a receiver that has the body from. ok is false if the feed does not
// have the entry's body.
func (s *Shared) item(ctx context.Context, feed *store.Feed, e store.Entry, from store.Hash) (it wire.Item, ok bool) {
	at := step{from, e.Hash}
	p, first := s.piece(at)
	if first {
		s.make(ctx, feed, p, e, from)
		if !p.ok {
			s.drop(at, p)
		}
		close(p.made)
	}
	select {
	case <-p.made:
	case <-ctx.Done():
		return wire.Item{}, false
	}
	if !p.ok {
		return wire.Item{}, false
	}
	e.Body, e.Generation = p.body, p.generation
	return wire.Item{Entry: e, Patch: p.patch, Packed: p.packed, Exact: true}, true
}

// piece returns the piece of a step. first is true if the caller must make it.
func (s *Shared) piece(at step) (p *piece, first bool) {
	s.mu.RLock()
	p = s.pieces[at]
	s.mu.RUnlock()
	if p != nil {
		return p, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p = s.pieces[at]; p != nil {
		return p, false
	}
	p = &piece{made: make(chan struct{})}
	s.pieces[at] = p
	return p, true
}

func (s *Shared) drop(at step, p *piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pieces[at] == p {
		delete(s.pieces, at)
	}
}

func (s *Shared) make(ctx context.Context, feed *store.Feed, p *piece, e store.Entry, from store.Hash) {
	body, generation, err := feed.Body(ctx, e.Key)
	if err != nil || len(body) > store.MaxBodyBytes || store.HashBody(generation, body) != e.Hash {
		return // the sender finds out why
	}
	p.ok, p.generation, p.body = true, generation, body
	if base := s.body(from); base != nil {
		if patch, ok := wire.MakePatch(base, body); ok {
			p.patch = patch
		}
	}
	whole := s.codec.Encode(nil, body)
	if p.packed = whole; p.patch != nil {
		p.packed = s.codec.Encode(nil, p.patch)
	}
	s.store(step{from, e.Hash}, p, whole)
}

// body returns a body by its hash, nil if it was evicted.
func (s *Shared) body(h store.Hash) []byte {
	s.mu.RLock()
	packed := s.bases[h]
	s.mu.RUnlock()
	if packed == nil {
		return nil
	}
	body, err := s.codec.Decode(nil, packed, store.MaxBodyBytes)
	if err != nil {
		return nil // own bytes: cannot be; a whole body is right in any case
	}
	return body
}

// store stores a piece and the body that it leads to, and evicts the oldest.
func (s *Shared) store(at step, p *piece, whole []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.kept = append(s.kept, kept{at, p, now})
	s.bytes += p.size()
	s.forgetLocked(now)
	if _, known := s.bases[at.to]; known || len(p.body) > wire.MaxPatchBody {
		return
	}
	s.bases[at.to] = whole
	s.order = append(s.order, at.to)
	for s.packed += len(whole); s.packed > baseBytes; s.order = s.order[1:] {
		s.packed -= len(s.bases[s.order[0]])
		delete(s.bases, s.order[0])
	}
}

// Rest evicts the pieces that are too old. Without it the last ones would stay until the next
// change.
func (s *Shared) Rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(time.Now())
}

// forgetLocked evicts the pieces that are too old or too many.
func (s *Shared) forgetLocked(now time.Time) {
	for len(s.kept) > 0 && (s.bytes > pieceBytes || now.Sub(s.kept[0].when) >= pieceTime) {
		k := s.kept[0]
		s.bytes -= k.made.size()
		if s.pieces[k.at] == k.made {
			delete(s.pieces, k.at)
		}
		s.kept[0] = kept{}
		if s.kept = s.kept[1:]; len(s.kept) == 0 {
			s.kept = nil
		}
	}
}
