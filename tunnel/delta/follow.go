package delta

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// Entries and raw bytes after which a batch is cut, and entries that are read at once of a feed that is sent in its order.
const (
	readEntries  = 512
	batchEntries = 256
	batchBytes   = 256 << 10
)

// place is where a sender stands in its feed: everything behind the cursor is read, and the receiver is at told; it will be at reached
// when the backlog is empty.
type place struct {
	cursor        store.Cursor
	told, reached store.Position
	owes          bool // reached is to be told although no entry changes
}

// read takes over what has changed in the feed. A feed that is sent in its order is read in pieces, so that a receiver that lacks much does
// not cost the memory of it; all reads the rest, so that no half of a decision is sent.
func (s *sender) read(all bool) {
	limit := readEntries
	if s.backlog.urgentFirst || all {
		limit = 0
	} else if s.backlog.len() > 0 {
		return
	}
	entries, next, through := s.feed.Read(s.at.cursor, limit)
	s.at.cursor = next
	if len(entries) > 0 {
		s.at.reached = through
		s.backlog.add(time.Now(), entries...)
	}
}

// follow sends what there is, then changes as they come. A turn is what is sent without a pause.
func (s *sender) follow(ctx context.Context) error {
	turn, waited := 0, false
	for {
		changed := s.feed.Changed()
		terms, others := s.terms.now()
		s.read(false)
		again := s.offerAgain()
		due := s.backlog.next(terms.last())
		s.tell()
		on := signals{changed: changed, terms: others, again: again}
		switch {
		case len(due) == 0 && !(s.at.owes && s.backlog.len() == 0):
			turn, waited = 0, false
			if err := s.sleep(ctx, on); err != nil {
				return err
			}
			continue
		case turn == 0 && len(due) > 0:
			urgent := s.backlog.urgentFirst && due[0].Priority <= store.PriorityCondition
			on.after = s.pace.wait(terms.Window, time.Now(), s.backlog.since, urgent)
		}
		if on.after > 0 || !s.flight.room(terms.InFlightBytes) {
			waited = true
			if err := s.sleep(ctx, on); err != nil {
				return err
			}
			continue
		}
		n, err := s.batch(ctx, due)
		if err != nil {
			return err
		}
		if turn += n; len(s.backlog.next(terms.last())) == 0 {
			s.pace.sent(terms.Window, time.Now(), turn, waited)
			turn, waited = 0, false
		}
	}
}

// signals are what a sender waits for, besides acknowledgements and the end.
type signals struct {
	changed, terms <-chan struct{}
	after, again   time.Duration // the end of a window; the next offer of what is owed
}

// sleep returns when there is something new to decide.
func (s *sender) sleep(ctx context.Context, on signals) error {
	var timeout <-chan time.Time
	if on.after == 0 || on.again > 0 && on.again < on.after {
		on.after = on.again
	}
	if on.after > 0 {
		timer := time.NewTimer(on.after)
		defer timer.Stop()
		timeout = timer.C
	}
	if s.backlog.len() > 0 && !s.backlog.urgentFirst {
		on.changed = nil // nothing that comes now overtakes
	}
	select {
	case <-on.changed:
	case <-on.terms:
	case <-timeout:
	case <-s.flight.landed:
	case <-s.compare:
		return s.reconcile(ctx, nil)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// tell says what waits.
func (s *sender) tell() {
	s.terms.waiting.Store(int64(s.flight.size() + s.backlog.len()*s.entryBytes))
}

// maxTries is how often in a row the feed is read again because an object has changed since: some bodies would be of one decision and some
// of the next.
const maxTries = 3

// batch sends the first of what is due, and returns how many entries are done.
func (s *sender) batch(ctx context.Context, due []waiting) (n int, err error) {
	var items []wire.Item
	for size := 0; n < len(due) && n < batchEntries && size < batchBytes; n++ {
		it, ok, err := s.render(ctx, due[n].Entry)
		if err != nil {
			return 0, err
		}
		if ok && s.tries < maxTries && s.moved(it, due[n].Entry) {
			s.tries++
			s.read(true)
			return 0, nil
		}
		if ok {
			items = append(items, it)
			size += len(it.Entry.Body)
		}
	}
	s.tries = 0
	for _, it := range items {
		delete(s.owed, it.Entry.Key)
	}
	s.backlog.done(n)
	last := s.backlog.len() == 0
	if last {
		s.at.told, s.at.owes = s.at.reached, false
	}
	return n, s.write(items, s.at.told, !last)
}

// write sends a batch, behind which the receiver is at a position.
func (s *sender) write(items []wire.Item, through store.Position, partial bool) error {
	payload := s.encoder.Encode(items, through.Revision, partial)
	for _, it := range items {
		s.bases.put(it.Entry.Key, it.Entry.Body)
	}
	if n := len(items); n > 0 {
		s.entryBytes = (3*s.entryBytes + len(payload)/n) / 4
	}
	s.flight.sent(inFlight{bytes: len(payload), through: through, cursor: s.at.cursor, partial: partial, at: time.Now()})
	s.counter.batch(traffic.Sent, payload, len(items), func(i int) (store.Entry, int) { return items[i].Entry, items[i].Size() })
	// gofail: var encodedBeforeSend struct{}
	if err := wire.WriteFrame(s.stream, wire.TypeBatch, payload); err != nil {
		return fmt.Errorf("send a batch: %w", err)
	}
	return nil
}
