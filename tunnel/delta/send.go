package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// Send keeps the receiver at the other end of the stream equal to the feed, until ctx ends or the
// stream breaks. It always returns an error. A receiver that holds is only asked how it differs;
// the error is ErrHeld then. Send cancels the stream when it returns.
func Send(ctx context.Context, stream Stream, feed *store.Feed, o SendOptions) error {
	s, err := begin(ctx, stream, feed, o)
	if err != nil {
		return err
	}
	return s.finish(s.listen())
}

// begin reads the receiver's position and starts to send.
func begin(ctx context.Context, stream Stream, feed *store.Feed, o SendOptions) (*sender, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	codec := compress.Default()
	if o.Shared != nil {
		o.PatchBytes = 0
	}
	if o.Policy == nil {
		o.Policy = NewRegulator(LAN.Down())
	}
	s := &sender{
		ctx:    ctx,
		cancel: cancel,
		uncut:  context.AfterFunc(ctx, stream.Cancel),
		onHeld: o.OnHeld,
		stream: stream,
		in:     bufio.NewReaderSize(stream, readAhead),
		feed:   feed,
		counter: counter{
			o.Meter,
			o.Purpose,
		},
		log:     logger(o.Log),
		encoder: wire.NewEncoder(codec),
		bases:   newBases(codec, o.PatchBytes),
		shared:  o.Shared,
		tracer:  o.Tracer,
		patches: true,
		terms:   o.Policy,
		backlog: newBacklog(
			o.UrgentFirst,
		),
		retryBodies: retryBodies{},
		entryBytes:  guessedBytes,
		answers:     make(chan wire.Answer),
		compare:     make(chan struct{}, 1),
	}
	s.running, s.hold = context.WithCancelCause(ctx)
	s.job = ondemand.NewJob(s.work)
	s.inFlight = newInFlight(feed, o, s.job.Kick)
	resume, err := s.readResume()
	if err != nil {
		return nil, s.finish(fmt.Errorf("read the receiver's position: %w", err))
	}
	if s.resume = resume; !resume.Bases {
		s.bases.limit, s.patches = 0, false
	}
	s.unwatch = append(s.unwatch, feed.Watch(s.job.Kick), s.terms.changes.Subscribe(s.job.Kick))
	s.job.Kick()
	return s, nil
}

// finish ends everything that runs, and returns the first error.
func (s *sender) finish(err error) error {
	err = because(s.ctx, err)
	s.cancel(err)
	s.stream.Cancel()
	for _, unwatch := range s.unwatch {
		unwatch()
	}
	s.job.End()
	s.inFlight.end()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.uncut()
	return because(s.ctx, err)
}

// work sends what there is to send, beginning at the receiver's position.
func (s *sender) work() {
	err := s.send()
	if why := context.Cause(s.running); errors.Is(why, ErrHeld) && s.ctx.Err() == nil {
		err = errors.Join(why, s.held(s.ctx, s.resume.Position, why))
	}
	if err != nil {
		s.cancel(err) // which ends the stream, and so the listening
	}
}

func (s *sender) send() error {
	if !s.begun {
		s.begun = true
		if err := s.start(s.running, s.resume); err != nil {
			return err
		}
	}
	return s.follow(s.running)
}

// guessedBytes is the assumed size of an entry on the wire before one was sent.
const guessedBytes = 200

// because prefers the reason why a stream was cancelled over the error of its next use.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// sender is one Send. Its fields belong to its job, except those of its listener (in) and those
// that are safe for both.
type sender struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	uncut    func() bool
	running  context.Context         // ends when the receiver holds
	hold     context.CancelCauseFunc // ends running
	unwatch  []func()
	in       *bufio.Reader
	stream   Stream
	feed     *store.Feed
	counter  counter
	log      *slog.Logger
	inFlight *inFlight
	answers  chan wire.Answer
	compare  chan struct{} // one slot: the receiver wants to compare
	terms    *Regulator
	job      *ondemand.Job

	resume      wire.Resume
	begun       bool
	encoder     *wire.Encoder
	bases       *bases
	shared      *Shared // nil: bases
	tracer      Tracer  // nil: none
	patches     bool    // the receiver takes them
	pace        pace
	statesAt    time.Time // of the last batch that had, or could have had, states
	turn        turn
	timer       *time.Timer // calls the job
	backlog     backlog
	retryBodies retryBodies
	at          place
	tries       int // to render a batch of one decision, in a row
	// entryBytes is what an entry took on the wire lately.
	entryBytes int
	onHeld     func(Held)
	warned     bool
}

func (s *sender) readResume() (wire.Resume, error) {
	t, payload, err := wire.ReadFrame(s.in, 256)
	if err != nil {
		return wire.Resume{}, err
	}
	if t != wire.TypeResume {
		return wire.Resume{}, fmt.Errorf("%w: frame type %d before a position", wire.ErrMalformed, t)
	}
	s.counter.position(traffic.Received, payload)
	return wire.DecodeResume(payload)
}

// listen handles the receiver's frames until the stream ends.
func (s *sender) listen() error {
	for {
		t, payload, err := wire.ReadFrame(s.in, wire.MaxFrame)
		if err != nil {
			return fmt.Errorf("read from the receiver: %w", err)
		}
		s.counter.position(traffic.Received, payload)
		switch t {
		case wire.TypeAck:
			ack, err := wire.DecodeAck(payload)
			if err == nil {
				err = s.inFlight.ack(ack)
			}
			if err != nil {
				return err
			}
		case wire.TypeAnswer:
			if err := ondemand.Apart(func() error { return s.answered(payload) }); err != nil {
				return err
			}
		case wire.TypeCompare:
			select {
			case s.compare <- struct{}{}:
			default:
			}
			s.job.Kick()
		case wire.TypeHold:
			if len(payload) > maxWhy {
				return fmt.Errorf("%w: %d bytes of why it holds", wire.ErrMalformed, len(payload))
			}
			s.hold(fmt.Errorf("%w: %s", ErrHeld, payload))
			s.job.Kick()
		default:
			return fmt.Errorf("%w: frame type %d from a receiver", wire.ErrMalformed, t)
		}
	}
}

// answered passes a digest response to its requester.
func (s *sender) answered(payload []byte) error {
	answer, err := decodeDigestResponse(payload)
	if err != nil {
		return err
	}
	select {
	case s.answers <- answer:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// rules sends first what says how objects are rendered, though it may have changed last: a receiver
// that was away would render older objects without it. The receiver stays where it is with it.
func (s *sender) rules() {
	if first := s.feed.Rules(s.at.told.Revision); len(first) > 0 {
		s.at.reached = s.at.told
		s.backlog.add(time.Now(), first...)
	}
}

// start sends the feed's position, and finds what the receiver lacks.
func (s *sender) start(ctx context.Context, resume wire.Resume) error {
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
		return s.reconcile(ctx, &resume.Root)
	}
	if s.inFlight.onAck != nil {
		s.inFlight.onAck(s.at.told) // what the receiver says that it has, it has acknowledged on an earlier stream
	}
	if !current {
		s.at.cursor = s.feed.CursorAt(s.at.told.Revision)
		s.rules()
	}
	return nil
}
