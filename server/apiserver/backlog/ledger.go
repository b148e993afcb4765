package backlog

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrTooMany is returned when a space has as many watches open as it may.
var ErrTooMany = errors.New("too many open watches")

// patience is for how long a reader may take nothing while its space needs more bytes than it has.
const patience = time.Second

// Ledger accounts for the open watches of all spaces. Its methods, and those of its watches, may be
// called concurrently.
type Ledger struct {
	bytes int64 // of each space

	mu     sync.Mutex // before that of a space
	spaces map[string]*space

	ended [len(reasons)]atomic.Uint64 // by Reason
}

// New returns a ledger that gives each space the same number of bytes. A space may need twice as
// many while ended watches are still going.
func New(bytes int64) *Ledger {
	return &Ledger{bytes: bytes, spaces: map[string]*space{}}
}

// Open begins a watch of a space that may have at most `most` of them, else the error is
// ErrTooMany. The ledger calls end at most once, when the watch must end; force says not to wait
// for its reader. end is called with locks held, so it must neither call the watch nor wait.
func (l *Ledger) Open(name string, most int, end func(force bool)) (*Watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.spaces[name]
	if s == nil {
		s = &space{ledger: l, name: name, watches: map[*Watch]struct{}{}, events: map[any]*Event{}}
		l.spaces[name] = s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watches) >= most {
		return nil, ErrTooMany
	}
	w := &Watch{space: s, end: end, held: map[*Event]struct{}{}}
	s.watches[w] = struct{}{}
	return w, nil
}

// space accounts for the watches of one space.
type space struct {
	ledger *Ledger
	name   string

	mu      sync.Mutex
	watches map[*Watch]struct{}
	events  map[any]*Event
	bytes   int64 // of events and buffers
	leaving int64 // of these, buffers of watches that have been ended and are not closed yet
}

// shrinkLocked ends watches until the space is within its bytes. It ends taker, the watch that
// needs more, only after all others.
func (s *space) shrinkLocked(taker *Watch) {
	limit := s.ledger.bytes
	for now := time.Now(); s.bytes-s.leaving > limit; {
		victim := s.victimLocked(now)
		if victim == nil {
			break
		}
		if len(victim.held) > 0 {
			victim.endLocked(SlowReader)
		} else {
			victim.endLocked(IdleBuffers)
		}
	}
	if s.bytes > 2*limit {
		taker.endLocked(NoRoom)
	}
}

// victimLocked returns the watch whose reader has taken nothing for longest, else the one that
// keeps the largest buffers and has nothing to send, else nil.
func (s *space) victimLocked(now time.Time) *Watch {
	var slowest, largest *Watch
	for w := range s.watches {
		switch {
		case w.ended:
		case len(w.held) == 0:
			if w.kept > 0 && (largest == nil || w.kept > largest.kept) {
				largest = w
			}
		case now.Sub(w.progressed()) >= patience && (slowest == nil || w.last.Load() < slowest.last.Load()):
			slowest = w
		}
	}
	if slowest != nil {
		return slowest
	}
	return largest
}

// unholdLocked removes an event from a watch.
func (s *space) unholdLocked(w *Watch, e *Event) {
	if _, has := w.held[e]; !has {
		return
	}
	delete(w.held, e)
	if e.refs--; e.refs == 0 {
		delete(s.events, e.key)
		s.bytes -= e.cost
	}
}
