package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// commitBytes bounds the batches that are stored in one transaction, of those that have already
// arrived.
const commitBytes = 1 << 20

// bodies is a Sink that can look up bodies. Patches are sent only to such a Sink.
type bodies interface {
	Get(k store.Key) (store.Entry, bool, error)
}

// Receive keeps the sink equal to the feed of the sender at the other end of the stream, until ctx
// ends or the stream breaks. What it acknowledges is durable. It cancels the stream when it
// returns.
//
// It always returns an error. The error is store.ErrRegressed when the copy did not come from this
// sender. Then nothing has changed: until the stream ends, Receive only answers how the two differ.
// It returns ErrReleased as soon as they do not.
func Receive(ctx context.Context, stream Stream, sink store.Sink, o ReceiveOptions) error {
	r, err := admitted(ctx, stream, sink, o)
	if err != nil {
		return err
	}
	return r.finish(r.read())
}

// admitted exchanges positions with the sender. It returns when the sender is the one that the copy
// came from.
func admitted(ctx context.Context, stream Stream, sink store.Sink, o ReceiveOptions) (*receiver, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &receiver{
		ctx:    ctx,
		cancel: cancel,
		uncut:  context.AfterFunc(ctx, stream.Cancel),
		stream: stream,
		in:     bufio.NewReaderSize(stream, readAhead),
		sink:   sink,
		counter: counter{
			o.Meter,
			o.Purpose,
		},
		log:      logger(o.Log),
		onHold:   o.OnHold,
		frames:   newInbound(commitBytes),
		recent:   recent{limit: o.RecentBytes},
		recheck:  o.Recheck,
		onTraced: o.OnTraced,
	}
	r.bodies, _ = sink.(bodies)
	var base wire.Base
	if r.bodies != nil {
		base = r.base
	}
	r.decoder = wire.NewDecoder(compress.Default(), base)
	resume := wire.Resume{Position: sink.Position(), Root: sink.Root(), Bases: base != nil, Short: true,
		Traces: o.OnTraced != nil}
	if err := r.counter.write(stream, wire.TypeResume, resume.Encode()); err != nil {
		return nil, r.finish(fmt.Errorf("send the position: %w", err))
	}
	if err := r.start(); err != nil {
		return nil, r.finish(err)
	}
	if o.OnAdmit != nil {
		o.OnAdmit()
	}
	o.Recheck.begin(r)
	return r, nil
}

// read takes what comes until the stream ends.
func (r *receiver) read() error {
	return r.frames.fill(r.in, r.work)
}

// work does what has come.
func (r *receiver) work() {
	ondemand.Room()
	if err := r.arrived(r.ctx); err != nil {
		r.cancel(err) // which ends the stream, and so the reading
		r.frames.take(true)
	}
}

// finish cancels the stream and returns the first error.
func (r *receiver) finish(err error) error {
	r.stream.Cancel()
	r.recheck.end(r)
	err = because(r.ctx, err)
	r.cancel(err)
	r.uncut()
	return err
}

// readAhead is small because a center has a buffer for each stream of each session. A larger frame
// is read past it.
const readAhead = 64

// receiver is one Receive. Its fields belong to the main goroutine; from the first frame on they
// belong to the one that works.
type receiver struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	uncut   func() bool
	in      *bufio.Reader
	stream  Stream
	sink    store.Sink
	bodies  bodies
	counter counter
	log     *slog.Logger
	onHold  func(error)
	decoder *wire.Decoder
	frames  *inbound

	head      store.Position // of the sender when it started
	root      store.Digest   // of the feed at head
	checked   bool
	comparing comparing
	recheck   *Recheck
	onTraced  func(store.Key, wire.TraceIDs) // nil: the sender does not tell
	traces    []wire.Trace                   // of the next batch

	pending map[store.Key]store.Entry // decoded, not stored yet; nil until a patch asks
	recent  recent
	batch   store.Batch
	count   int
}

// start reads the sender's position, and refuses a sender that the copy did not come from.
func (r *receiver) start() error {
	t, payload, err := wire.ReadFrame(r.in, 256)
	if err != nil {
		return fmt.Errorf("read the sender's position: %w", err)
	}
	if t != wire.TypeStart {
		return fmt.Errorf("%w: frame type %d before a start", wire.ErrMalformed, t)
	}
	r.counter.position(traffic.Received, payload)
	m, err := wire.DecodeStart(payload)
	if err != nil {
		return err
	}
	if r.head, r.root = m.Head, m.Root; m.Compare {
		r.comparing.phase = compared
	}
	err = r.admit(m)
	if !errors.Is(err, store.ErrRegressed) {
		return err
	}
	return r.hold(err)
}

// arrived handles everything that has arrived. What came while the disk was busy is stored in one
// transaction.
func (r *receiver) arrived(ctx context.Context) error {
	for {
		frames := r.frames.take(false)
		if len(frames) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, f := range frames {
			if err := r.frame(ctx, f); err != nil {
				return err
			}
		}
		if err := r.commit(ctx); err != nil {
			return err
		}
	}
}

func (r *receiver) frame(ctx context.Context, f frame) error {
	if f.own != nil {
		return f.own()
	}
	switch f.kind {
	case wire.TypeBatch:
		return r.decode(f.payload)
	case wire.TypeTrace:
		return r.traced(f.payload)
	case wire.TypeAsk:
		r.counter.position(traffic.Received, f.payload)
		if err := r.commit(ctx); err != nil {
			return err
		}
		return r.answer(f.payload)
	default:
		return fmt.Errorf("%w: frame type %d from a sender", wire.ErrMalformed, f.kind)
	}
}

func (r *receiver) decode(payload []byte) error {
	entries, revision, more, err := r.decoder.Decode(payload)
	if err != nil {
		return err
	}
	r.counter.batch(
		traffic.Received,
		payload,
		len(entries),
		func(i int) (store.Entry, int) { return entries[i], r.decoder.Size(i) },
	)
	if err := r.tellTraced(entries); err != nil {
		return err
	}
	if r.pending != nil {
		r.wait(entries)
	}
	r.batch.Entries = append(r.batch.Entries, entries...)
	r.batch.Through = store.Position{Incarnation: r.head.Incarnation, Era: r.head.Era, Revision: revision}
	r.batch.More = more
	r.count++
	return nil
}

// wait records entries that a patch of a later batch may have as its base.
func (r *receiver) wait(entries []store.Entry) {
	for _, e := range entries {
		r.pending[e.Key] = e
	}
}

// base returns the body that a patch is made against, whether stored or about to be.
func (r *receiver) base(k store.Key, h store.Hash) ([]byte, error) {
	if len(r.batch.Entries) > 0 && r.pending == nil {
		r.pending = make(map[store.Key]store.Entry, len(r.batch.Entries))
		r.wait(r.batch.Entries)
	}
	e, ok := r.pending[k]
	if !ok {
		e, ok = r.recent.get(k, h)
	}
	if !ok {
		var err error
		if e, ok, err = r.bodies.Get(k); err != nil {
			return nil, fmt.Errorf("read the base of a patch: %w", err)
		}
	}
	if !ok || e.UnknownBody || e.Hash != h {
		return nil, fmt.Errorf("%w: %s", errBase, k)
	}
	return e.Body, nil
}

// commit stores what was decoded and acknowledges it.
func (r *receiver) commit(ctx context.Context) error {
	if r.count == 0 {
		return nil
	}
	// gofail: var receivedBeforeCommit struct{}
	if err := r.sink.Commit(ctx, r.batch); err != nil {
		return fmt.Errorf("store a batch: %w", err)
	}
	// gofail: var committedBeforeAck struct{}
	ack := wire.Ack{Frames: r.count, Revision: r.batch.Through.Revision}
	through, more := r.batch.Through, r.batch.More
	r.recent.put(r.batch.Entries)
	r.batch, r.pending, r.count = store.Batch{}, nil, 0
	if err := r.counter.write(r.stream, wire.TypeAck, ack.Encode()); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	// gofail: var acknowledged struct{}
	if !more {
		if err := r.caughtUp(); err != nil {
			return err
		}
	}
	return r.check(through)
}

// check compares the copy with the feed at the first moment when both are at the same position.
func (r *receiver) check(at store.Position) error {
	if r.checked || at != r.head {
		r.checked = r.checked || at.Revision > r.head.Revision
		return nil
	}
	r.checked = true
	if r.sink.Root() == r.root {
		return nil
	}
	r.log.Warn("the copy differs from the feed, it is compared", "position", at.String())
	return r.compare(false)
}

// Members of one part of an answer.
const answerMembers = 2048

func (r *receiver) answer(payload []byte) error {
	ask, err := wire.DecodeAsk(payload)
	if err != nil {
		return err
	}
	a := wire.Answer{Short: ask.Short}
	switch ask.Level {
	case wire.LevelOuter:
		r.asked()
		outer, err := r.sink.Outer()
		if err != nil {
			return fmt.Errorf("read digests: %w", err)
		}
		a.Digests = outer[:]
	case wire.LevelInner:
		for _, b := range ask.Buckets {
			inner, err := r.sink.Inner(b)
			if err != nil {
				return fmt.Errorf("read digests: %w", err)
			}
			a.Digests = append(a.Digests, inner[:]...)
		}
	case wire.LevelMembers:
		for _, b := range ask.Buckets {
			members, err := r.sink.Members(b/store.Fanout, b%store.Fanout)
			if err != nil {
				return fmt.Errorf("read members: %w", err)
			}
			a.Members = append(a.Members, members...)
			if len(a.Members) >= answerMembers {
				a.More = true
				if err := r.counter.write(r.stream, wire.TypeAnswer, encodeDigestResponse(a)); err != nil {
					return err
				}
				a = wire.Answer{}
			}
		}
	}
	return r.counter.write(r.stream, wire.TypeAnswer, encodeDigestResponse(a))
}
