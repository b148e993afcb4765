package backlog

import (
	"sync/atomic"
	"time"
)

// Event is something that at least one watch of a space has not sent yet.
type Event struct {
	// Value is what the first watch that held the event stored in it.
	Value any

	key  any
	cost int64
	refs int
}

// cost returns how many bytes an event of so many encoded bytes takes: the object, its encoding,
// and the buffers for encoding it.
func cost(size int64) int64 { return 1024 + 3*size }

// Watch is one open watch.
type Watch struct {
	space *space
	end   func(force bool)
	last  atomic.Int64 // when its reader took something, or was idle, in nanoseconds

	// Guarded by space.mu.
	held          map[*Event]struct{}
	sending       *Event
	kept          int64 // what it takes besides events
	encoded       int64 // of kept, buffers of what it has encoded
	ended, closed bool
}

// Hold returns the event of a key, and creates it if no watch of the space holds it. size is about
// how many bytes its encoding has. Hold returns nil if the watch has ended, perhaps by this call.
func (w *Watch) Hold(key any, size int64, value func() any) *Event {
	s := w.space
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.ended || w.closed {
		return nil
	}
	if len(w.held) == 0 {
		w.Progress()
	}
	e := s.events[key]
	if e == nil {
		e = &Event{Value: value(), key: key, cost: cost(size)}
		s.events[key] = e
		s.bytes += e.cost
	}
	if _, has := w.held[e]; !has {
		w.held[e] = struct{}{}
		e.refs++
	}
	s.shrinkLocked(w)
	if w.ended {
		return nil
	}
	return e
}

// Encoded sets the real size of the encoding of an event, in bytes. The watch that calls it has
// made the encoding, and keeps buffers of that size until it ends.
func (w *Watch) Encoded(e *Event, size int64) {
	s := w.space
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := cost(size) - e.cost; more > 0 && e.refs > 0 {
		e.cost += more
		s.bytes += more
	}
	w.encoded = max(w.encoded, 2*size)
	w.keepLocked(w.encoded)
	s.shrinkLocked(w)
}

// Keep charges the watch for bytes that it keeps while it is open, whatever it has to send.
func (w *Watch) Keep(bytes int64) {
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	w.keepLocked(bytes)
	w.space.shrinkLocked(w)
}

// Unkeep reverts Keep: the watch is charged for what it has encoded alone.
func (w *Watch) Unkeep() {
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	less := w.kept - w.encoded
	if w.closed {
		return
	}
	w.kept -= less
	w.space.bytes -= less
	if w.ended {
		w.space.leaving -= less
	}
}

// keepLocked charges what a watch keeps, of which the largest counts. w.space.mu must be held.
func (w *Watch) keepLocked(bytes int64) {
	more := bytes - w.kept
	if more <= 0 || w.closed {
		return
	}
	w.kept += more
	w.space.bytes += more
	if w.ended {
		w.space.leaving += more
	}
}

// Sending records that the reader is about to get an event.
func (w *Watch) Sending(e *Event) {
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	w.sending = e
}

// Sent records that the reader has got an event, or never will.
func (w *Watch) Sent(e *Event) {
	w.Progress()
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	w.sending = nil
	w.space.unholdLocked(w, e)
}

// Progress records that the reader has taken something.
func (w *Watch) Progress() { w.last.Store(time.Now().UnixNano()) }

func (w *Watch) progressed() time.Time { return time.Unix(0, w.last.Load()) }

// EndIfStuck ends the watch if its reader has taken nothing for the given time although there is
// something. It returns when to ask again, or 0 if the watch has ended.
func (w *Watch) EndIfStuck(long time.Duration) time.Duration {
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	if len(w.held) == 0 {
		return long
	}
	if left := long - time.Since(w.progressed()); left > 0 {
		return left
	}
	w.endLocked(StuckReader)
	return 0
}

// End ends the watch because its reader is too slow.
func (w *Watch) End() {
	w.space.mu.Lock()
	defer w.space.mu.Unlock()
	w.endLocked(TooFarBehind)
}

// endLocked ends the watch and lets go of all but what is being sent. w.space.mu must be held.
func (w *Watch) endLocked(why Reason) {
	if w.ended || w.closed {
		return
	}
	w.ended = true
	w.space.ledger.ended[why].Add(1)
	w.end(len(w.held) > 0)
	for e := range w.held {
		if e != w.sending {
			w.space.unholdLocked(w, e)
		}
	}
	w.space.leaving += w.kept
}

// Close releases what the watch holds. When it returns, end is not running and will not be called.
func (w *Watch) Close() {
	s := w.space
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	for e := range w.held {
		s.unholdLocked(w, e)
	}
	s.bytes -= w.kept
	if w.ended {
		s.leaving -= w.kept
	}
	delete(s.watches, w)
	if len(s.watches) == 0 {
		delete(s.ledger.spaces, s.name)
	}
}
