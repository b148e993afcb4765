package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// Entries and raw bytes after which a batch is cut.
const (
	readEntries  = 512
	batchEntries = 256
	batchBytes   = 256 << 10
)

// Send keeps the receiver at the other end of the stream equal to the feed until ctx ends or the stream breaks; it always returns an error.
// While the receiver does not obey this feed it is only asked how it differs; the error is ErrHeld then. The stream is cancelled when it
// returns.
func Send(ctx context.Context, stream Stream, feed *store.Feed, o SendOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, stream.Cancel)
	defer stop()
	codec := compress.Default()
	running, pause := context.WithCancelCause(ctx)
	defer pause(nil)
	s := &sender{pause: pause, onHeld: o.OnHeld, stream: stream, feed: feed, counter: counter{o.Meter, o.Purpose}, log: logger(o.Log), encoder: wire.NewEncoder(codec), bases: newBases(codec, o.PatchBytes),
		flight: newFlight(o), pace: pace{window: o.Window}, answers: make(chan wire.Answer), compare: make(chan struct{}, 1)}
	in := bufio.NewReaderSize(stream, 4<<10)
	resume, err := s.readResume(in)
	if err != nil {
		return because(ctx, fmt.Errorf("read the receiver's position: %w", err))
	}
	if !resume.Bases {
		s.bases.limit = 0
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(s.read(ctx, in))
	}()
	err = s.run(running, resume)
	if why := context.Cause(running); errors.Is(why, ErrHeld) && ctx.Err() == nil {
		err = errors.Join(why, s.held(ctx, resume.Position, why))
	}
	cancel(err)
	stream.Cancel()
	<-read
	return because(ctx, err)
}

// because prefers the reason why a stream was cut over the error of its next use.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// sender is one Send. All fields but flight and the channels belong to its main goroutine.
type sender struct {
	stream  Stream
	feed    *store.Feed
	counter counter
	log     *slog.Logger
	encoder *wire.Encoder
	bases   *bases
	flight  *flight
	pace    pace
	answers chan wire.Answer
	compare chan struct{}           // one slot: the receiver wants to compare
	pause   context.CancelCauseFunc // of run, when the receiver holds
	onHeld  func(Held)
	warned  bool
}

func (s *sender) readResume(in *bufio.Reader) (wire.Resume, error) {
	t, payload, err := wire.ReadFrame(in, 256)
	if err != nil {
		return wire.Resume{}, err
	}
	if t != wire.TypeResume {
		return wire.Resume{}, fmt.Errorf("%w: frame type %d before a position", wire.ErrMalformed, t)
	}
	s.counter.position(traffic.Received, payload)
	return wire.DecodeResume(payload)
}

// read takes what the receiver says until the stream ends.
func (s *sender) read(ctx context.Context, in *bufio.Reader) error {
	for {
		t, payload, err := wire.ReadFrame(in, wire.MaxFrame)
		if err != nil {
			return fmt.Errorf("read from the receiver: %w", err)
		}
		s.counter.position(traffic.Received, payload)
		switch t {
		case wire.TypeAck:
			ack, err := wire.DecodeAck(payload)
			if err == nil {
				err = s.flight.ack(ack)
			}
			if err != nil {
				return err
			}
		case wire.TypeAnswer:
			answer, err := decodeAnswer(payload)
			if err != nil {
				return err
			}
			select {
			case s.answers <- answer:
			case <-ctx.Done():
				return ctx.Err()
			}
		case wire.TypeCompare:
			select {
			case s.compare <- struct{}{}:
			default:
			}
		case wire.TypeHold:
			if len(payload) > maxWhy {
				return fmt.Errorf("%w: %d bytes of why it holds", wire.ErrMalformed, len(payload))
			}
			s.pause(fmt.Errorf("%w: %s", ErrHeld, payload))
		default:
			return fmt.Errorf("%w: frame type %d from a receiver", wire.ErrMalformed, t)
		}
	}
}

// run brings the receiver up to date, then follows the feed.
func (s *sender) run(ctx context.Context, resume wire.Resume) error {
	head, root, cursor := s.feed.Snapshot()
	same := resume.Position.Incarnation == head.Incarnation
	current := same && resume.Position.Revision == head.Revision
	shared := s.feed.Shared(resume.Position)
	ours := same && resume.Position.Revision <= shared
	compare := !ours || resume.Position.Revision < s.feed.Floor() || current && root != resume.Root
	start := wire.Start{Head: head, Root: root, Compare: compare, Shared: shared}
	if err := s.counter.write(s.stream, wire.TypeStart, start.Encode()); err != nil {
		return err
	}
	at := resume.Position
	if compare {
		if !ours {
			at = store.Position{Incarnation: head.Incarnation, Revision: store.Comparing}
		}
		var err error
		if cursor, at, err = s.reconcile(ctx, at, &resume.Root); err != nil {
			return err
		}
		return s.follow(ctx, cursor, at)
	}
	if s.flight.onAck != nil {
		s.flight.onAck(at) // what the receiver says that it has, it has acknowledged on an earlier stream
	}
	if !current {
		// A revision may have had a second step after the receiver got there, so the last one is looked at again.
		cursor = s.feed.CursorAt(at.Revision - 1)
	}
	return s.follow(ctx, cursor, at)
}

// follow sends changes as they come.
func (s *sender) follow(ctx context.Context, cursor store.Cursor, at store.Position) error {
	for {
		changed := s.feed.Changed()
		entries, next, through := s.feed.Read(cursor, readEntries)
		if len(entries) == 0 {
			select {
			case <-changed:
				continue
			case <-s.compare:
				var err error
				if cursor, at, err = s.reconcile(ctx, at, nil); err != nil {
					return err
				}
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		waited, err := s.wait(ctx)
		if err != nil {
			return err
		}
		if waited { // more may have come, and only the latest of a key counts
			entries, next, through = s.feed.Read(cursor, readEntries)
		}
		err = s.send(ctx, entries, at, through, true)
		for try := 1; errors.Is(err, errMoved); try++ {
			entries, next, through = s.feed.Read(cursor, readEntries)
			err = s.send(ctx, entries, at, through, try < maxTries)
		}
		if err != nil {
			return err
		}
		s.pace.sent(time.Now(), len(entries), waited)
		cursor, at = next, through
	}
}

// wait returns when the window and the bytes in flight allow another batch, and whether it took time.
func (s *sender) wait(ctx context.Context) (waited bool, err error) {
	if d := s.pace.wait(time.Now()); d > 0 {
		waited = true
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
	for !s.flight.room() {
		waited = true
		select {
		case <-s.flight.landed:
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
	return waited, nil
}

// errMoved is returned by send when an object has changed since the entries were read: some bodies would be of one decision and some of the
// next. They are read again, at most maxTries times in a row.
var errMoved = errors.New("the feed has moved on")

const maxTries = 3

// send writes entries in the order of application, cut into batches; the receiver is at from until the last of them, then at through.
func (s *sender) send(ctx context.Context, entries []store.Entry, from, through store.Position, strict bool) error {
	slices.SortStableFunc(entries, func(a, b store.Entry) int { return a.Rank() - b.Rank() })
	var items []wire.Item
	size := 0
	for i, e := range entries {
		it, ok, err := s.render(ctx, e)
		if err != nil {
			return err
		}
		if strict && ok && s.moved(it, e) {
			return errMoved
		}
		if !ok {
			continue
		}
		items = append(items, it)
		size += len(it.Entry.Body)
		if (len(items) >= batchEntries || size >= batchBytes) && i < len(entries)-1 {
			if err := s.write(ctx, items, from, true); err != nil {
				return err
			}
			items, size = nil, 0
		}
	}
	return s.write(ctx, items, through, false)
}

func (s *sender) write(ctx context.Context, items []wire.Item, through store.Position, partial bool) error {
	for !s.flight.room() {
		select {
		case <-s.flight.landed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	payload := s.encoder.Encode(items, through.Revision, partial)
	for _, it := range items {
		s.bases.put(it.Entry.Key, it.Entry.Body)
	}
	s.flight.sent(inFlight{len(payload), through, partial, time.Now()})
	s.counter.batch(traffic.Sent, payload, len(items), func(i int) (store.Entry, int) { return items[i].Entry, items[i].Size() })
	// gofail: var encodedBeforeSend struct{}
	if err := wire.WriteFrame(s.stream, wire.TypeBatch, payload); err != nil {
		return fmt.Errorf("send a batch: %w", err)
	}
	return nil
}
