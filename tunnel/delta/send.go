package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
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
	if o.Shared != nil {
		o.PatchBytes = 0
	}
	if o.Terms == nil {
		o.Terms = NewRegulator(LAN.Down())
	}
	running, pause := context.WithCancelCause(ctx)
	defer pause(nil)
	s := &sender{pause: pause, onHeld: o.OnHeld, stream: stream, feed: feed, counter: counter{o.Meter, o.Purpose}, log: logger(o.Log), encoder: wire.NewEncoder(codec), bases: newBases(codec, o.PatchBytes),
		flight: newFlight(feed, o), shared: o.Shared, patches: true, terms: o.Terms, backlog: newBacklog(o.UrgentFirst), owed: owed{}, entryBytes: guessedBytes, answers: make(chan wire.Answer), compare: make(chan struct{}, 1)}
	in := bufio.NewReaderSize(stream, readAhead/2)
	resume, err := s.readResume(in)
	if err != nil {
		return because(ctx, fmt.Errorf("read the receiver's position: %w", err))
	}
	if !resume.Bases {
		s.bases.limit, s.patches = 0, false
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(s.listen(ctx, in))
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

// guessedBytes is what an entry takes on the wire, as long as none was sent.
const guessedBytes = 200

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
	shared  *Shared // nil: bases
	patches bool    // the receiver takes them
	flight  *flight
	pace    pace
	terms   *Regulator
	backlog backlog
	owed    owed
	at      place
	tries   int // to render a batch of one decision, in a row
	// entryBytes is what an entry took on the wire lately.
	entryBytes int
	answers    chan wire.Answer
	compare    chan struct{}           // one slot: the receiver wants to compare
	pause      context.CancelCauseFunc // of run, when the receiver holds
	onHeld     func(Held)
	warned     bool
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

// listen takes what the receiver says until the stream ends.
func (s *sender) listen(ctx context.Context, in *bufio.Reader) error {
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
	s.at = place{cursor: cursor, told: resume.Position, reached: head}
	if compare {
		if !ours {
			s.at.told = store.Position{Incarnation: head.Incarnation, Revision: store.Comparing}
		}
		if err := s.reconcile(ctx, &resume.Root); err != nil {
			return err
		}
		return s.follow(ctx)
	}
	if s.flight.onAck != nil {
		s.flight.onAck(s.at.told) // what the receiver says that it has, it has acknowledged on an earlier stream
	}
	if !current {
		s.at.cursor = s.feed.CursorAt(s.at.told.Revision)
	}
	return s.follow(ctx)
}
