package delta

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// Entries and raw bytes after which a batch is cut. Entries that are read at once of a feed that is
// sent in its order.
const (
	readEntries  = 512
	batchEntries = 256
	batchBytes   = 256 << 10
)

// place is a sender's place in its feed. Everything behind the cursor is read. The receiver is at
// told, and will be at reached when the backlog is empty.
type place struct {
	cursor        store.Cursor
	told, reached store.Position
	owes          bool // reached is to be told although no entry changes
}

// read reads what has changed in the feed. A feed that is sent in its order is read in pieces, to
// bound the memory for a receiver that lacks much. all reads the rest, so that no half of a
// decision is sent.
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

// follow sends what there is to send now. After nil it must be called again at the next change,
// another policy, or the end of its timer. Where there was no room it must be called at an
// acknowledgement, too. So a sender with nothing to send has no goroutine.
func (s *sender) follow(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case <-s.compare:
			if err := s.reconcile(ctx, nil); err != nil {
				return err
			}
		default:
		}
		terms := s.terms.now()
		s.read(false)
		after := s.retryBody()
		due, wait := s.due(terms)
		s.reportWaiting()
		if len(due) == 0 && !(s.at.owes && s.backlog.len() == 0) {
			s.turn = turn{}
			s.callAfter(after)
			return nil
		}
		if wait > 0 || !s.inFlight.room(terms.InFlightBytes) {
			s.turn.waited = true
			if after == 0 || wait > 0 && wait < after {
				after = wait
			}
			s.callAfter(after)
			return nil
		}
		n, err := s.batch(ctx, due)
		if err != nil {
			return err
		}
		s.turn.sent += n
		s.end(terms)
	}
}

// turn is what is sent without a pause: how many entries, and whether they had to wait. States says that
// it has nothing less urgent than a state.
type turn struct {
	sent   int
	waited bool
	states bool
}

// end ends a turn that has sent all that it is for.
func (s *sender) end(terms FlowPolicy) {
	last := terms.last()
	if s.turn.states {
		last = min(last, store.PriorityState)
	}
	if len(s.backlog.next(last)) > 0 {
		return
	}
	if s.statesAt = time.Now(); !s.turn.states {
		s.pace.sent(terms.Window, s.statesAt, s.turn.sent, s.turn.waited)
	}
	s.turn = turn{}
}

// due returns what goes next, and how long it must wait: all by its window, or what is as urgent as a
// state by its own. States do not go alone where all goes soon: one batch costs less than two.
func (s *sender) due(terms FlowPolicy) ([]waiting, time.Duration) {
	all := s.backlog.next(terms.last())
	wait := s.pause(terms, all)
	if terms.Window.State == 0 || !s.backlog.urgentFirst {
		return all, wait
	}
	states := s.backlog.next(min(terms.last(), store.PriorityState))
	if s.turn.sent > 0 {
		if s.turn.states {
			return states, 0
		}
		return all, 0
	}
	s.turn.states = false
	if len(states) == 0 || len(states) < len(all) && wait <= terms.Window.State {
		return all, wait
	}
	s.turn.states = true
	return states, max(0, time.Until(s.statesAt.Add(terms.Window.State)))
}

// pause returns how long what is due must wait for the window.
func (s *sender) pause(terms FlowPolicy, due []waiting) time.Duration {
	if s.turn.sent > 0 || len(due) == 0 {
		return 0
	}
	urgent := s.backlog.urgentFirst && due[0].Priority <= store.PriorityCondition
	return s.pace.wait(terms.Window, time.Now(), s.backlog.since, urgent)
}

// callAfter schedules follow; 0 leaves it to the next event.
func (s *sender) callAfter(d time.Duration) {
	switch {
	case d <= 0:
	case s.timer == nil:
		s.timer = time.AfterFunc(d, s.job.Kick)
	default:
		s.timer.Reset(d)
	}
}

// reportWaiting reports how many bytes wait to be sent.
func (s *sender) reportWaiting() {
	s.terms.waiting.Store(int64(s.backlog.len() * s.entryBytes))
}

// maxTries bounds how often in a row the feed is read again because an object has changed since.
// Without that some bodies would be of one decision and some of the next.
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
		delete(s.retryBodies, it.Entry.Key)
	}
	s.backlog.done(n)
	last := s.backlog.len() == 0
	if last {
		s.at.told, s.at.owes = s.at.reached, false
	}
	return n, s.write(items, s.at.told, !last)
}

// write sends a batch that takes the receiver to a position.
func (s *sender) write(items []wire.Item, through store.Position, partial bool) error {
	payload := s.encoder.Encode(items, through.Revision, partial)
	for _, it := range items {
		s.bases.put(it.Entry.Key, it.Entry.Body)
	}
	if n := len(items); n > 0 {
		s.entryBytes = (3*s.entryBytes + len(payload)/n) / 4
	}
	spans, err := s.trace(items)
	if err != nil {
		return err
	}
	s.inFlight.sent(sentBatch{bytes: len(payload), through: through, cursor: s.at.cursor, partial: partial,
		at: time.Now(), spans: spans})
	s.counter.batch(
		traffic.Sent,
		payload,
		len(items),
		func(i int) (store.Entry, int) { return items[i].Entry, items[i].Size() },
	)
	// gofail: var encodedBeforeSend struct{}
	if err := wire.WriteFrame(s.stream, wire.TypeBatch, payload); err != nil {
		return fmt.Errorf("send a batch: %w", err)
	}
	return nil
}
