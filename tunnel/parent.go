package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// openTime is how long a child may take to open its streams, and to read a refusal.
const openTime = 10 * time.Second

// Admission is what a parent gives to a child that it admits.
type Admission struct {
	// Feed is the child's desired state.
	Feed *store.Feed
	// Inbox is the copy of the child's reports.
	Inbox store.Sink
	// Welcome is the answer to Hello; Clock is filled in.
	Welcome Welcome
}

// Admitter decides about children by their proven identities. A *Refused error is sent to the
// child.
type Admitter interface {
	// Member refuses an identity before anything else is done for it. It is also asked about
	// children whose certificate has expired.
	Member(who Identity) error
	// Admit decides about a child that has said Hello.
	Admit(ctx context.Context, who Identity, hello Hello) (Admission, error)
	// Sign answers a certificate request (PEM) of a child, whose certificate may have expired. It
	// must check that the child is still a member. The error's text is sent to the child.
	Sign(ctx context.Context, who Identity, csrPEM []byte) (chainPEM, bundlePEM []byte, err error)
}

// Listener learns what a child says. Its methods may be called concurrently.
type Listener interface {
	// Acknowledged is called when the child has durably stored a position of its Feed.
	Acknowledged(at store.Position)
	// Status receives the child's status soon after the session begins, and whenever it changes.
	// dropped counts the conditions that a parent does not accept.
	Status(said ChildStatus, dropped int)
	// Credentials is called when the child's credentials have changed.
	Credentials(has CredentialStatus)
	// Held is called when the child holds, and again when what it would lose has changed.
	Held(h delta.Held)
	// NotConnected is called when the child does not bring a data connection up.
	NotConnected(n NotConnected)
	// Wanted is called when the child wants to be asked for a data connection. It must not wait.
	Wanted(w Wanted)
}

// ParentConfig is what a parent brings into a session.
type ParentConfig struct {
	Admitter Admitter
	// Listener learns what the child says. It may be nil.
	Listener Listener
	// Recheck has the child's reports compared when it is asked to. It may be nil.
	Recheck *delta.Recheck
	Lease   LeaseGranter // nil grants none
	// Commands are sent to the child as they are put. It may be nil.
	Commands *Commands
	// Send are the options of Feed; nil means delta.Down with the FlowPolicy of the link.
	Send *delta.SendOptions
	// How the link is used; nil is a LAN without limits.
	Use *LinkUse
	// Shared renders the bodies of Feed once for all children; it may be nil.
	Shared *delta.Shared
	// Tracer follows entries of Feed that are sampled; it may be nil.
	Tracer delta.Tracer
	// Meter counts what crosses; it may be nil.
	Meter *traffic.Meter
	Log   *slog.Logger
}

// ServeParent runs one session over a connection that a child has dialled, until ctx ends or the
// session does. It then closes the connection. It always returns an error.
func ServeParent(ctx context.Context, conn Conn, cfg ParentConfig) error {
	ended := make(chan error, 1)
	StartParent(ctx, conn, cfg, func(err error) { ended <- err })
	return <-ended
}

// StartParent is ServeParent without waiting: it returns at once, and calls done with the error
// when nothing of the session runs any more. A center has thousands of idle sessions. Each has one
// goroutine with a small stack for each stream that waits for the child.
func StartParent(ctx context.Context, conn Conn, cfg ParentConfig, done func(error)) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Use == nil {
		cfg.Use = NewLinkUse(Link{})
	}
	if cfg.Commands == nil {
		cfg.Commands = NewCommands(0)
	}
	p := &parent{ParentConfig: cfg, conn: conn, done: done}
	p.outer, p.cancel = context.WithCancelCause(ctx)
	cfg.Meter.Open(link{conn})
	// The parts end after the connection: else the child would see a broken stream before the
	// reason.
	p.ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
	p.kept = context.AfterFunc(p.outer, func() {
		conn.Close(drainReason(context.Cause(p.outer)))
		p.end()
	})
	p.parts.Store(1)
	go func() { p.ended(p.begin()) }()
}

// ended counts a part that has ended. An error ends the other parts. The last part ends the
// session.
func (p *parent) ended(err error) {
	if err != nil {
		p.cancel(err) // the first one is the cause
	}
	if p.parts.Add(-1) > 0 {
		return
	}
	p.kept()
	p.blackhole.end()
	if p.commanding != nil {
		p.unwatch()
		p.commanding.End()
	}
	err = childStopped(p.conn, whyEnded(p.conn, context.Cause(p.outer)))
	p.Meter.Ended(link{p.conn}, endOf(err))
	err = errors.Join(err, p.conn.Close(drainReason(err)))
	p.end()
	p.done(err)
}

// drainReason returns the reason that the child receives when the parent's context ends:
// ErrDraining, unless the cause says otherwise.
func drainReason(err error) error {
	if errors.Is(err, context.Canceled) {
		return ErrDraining
	}
	return err
}

// childStreams is how many streams a child opens.
const childStreams = 3

type parent struct {
	ParentConfig
	conn              Conn
	done              func(error)
	outer             context.Context // of the session
	cancel            context.CancelCauseFunc
	ctx               context.Context // of its parts
	end               func()
	kept              func() bool // keeps the connection from being closed with outer
	parts             atomic.Int32
	control           *control
	desired, reported Stream
	others            int // streams of another version
	admission         Admission

	commanding *ondemand.Job
	unwatch    func()
	told       Link    // how the child was told to use the link
	narrowed   *Narrow // what the child was told is taken away
	wished     Wish    // what the child was told is wished
	blackhole  mtuBlackhole
	said       ChildStatus // the last one, but for what the cluster offers
}

// begin admits the child and starts the parts of the session.
func (p *parent) begin() error {
	welcome, err := p.open(p.ctx)
	if err != nil {
		return err
	}
	p.blackhole.control, p.blackhole.conn, p.blackhole.found = p.control, p.conn, p.cancel
	p.commanding = ondemand.NewJob(p.sendCommands)
	offOrders, offUse := p.Commands.changes.Subscribe(p.commanding.Kick), p.Use.changes.Subscribe(p.commanding.Kick)
	p.unwatch = func() { offOrders(); offUse() }
	p.commanding.Kick()
	if p.Lease != nil && !welcome.RenewOnly {
		p.Lease.Begin()
	}
	p.parts.Add(1)
	go p.read()
	if !welcome.RenewOnly {
		p.parts.Add(2)
		go p.send()
		go p.receive()
	}
	return nil
}

// open accepts the child's streams, reads its Hello and answers it.
func (p *parent) open(ctx context.Context) (Welcome, error) {
	opening, cancel := context.WithTimeoutCause(
		ctx,
		openTime,
		fmt.Errorf("%w: the streams were not opened in time", ErrProtocol),
	)
	defer cancel()
	stop := context.AfterFunc(opening, func() {
		if opening.Err() == context.DeadlineExceeded {
			p.conn.Close(context.Cause(opening))
		}
	})
	defer stop()
	for p.control == nil || p.desired == nil || p.reported == nil {
		if err := p.accept(opening); err != nil {
			return Welcome{}, fmt.Errorf("accept the child's streams: %w", err)
		}
	}
	t, payload, err := p.control.receive()
	if err != nil {
		return Welcome{}, err
	}
	if t != typeHello {
		return Welcome{}, fmt.Errorf("%w: frame type %d instead of a hello", ErrProtocol, t)
	}
	hello, err := decode[Hello](payload)
	if err != nil {
		return Welcome{}, err
	}
	welcome, err := p.admit(ctx, hello)
	if err != nil {
		return Welcome{}, p.refuse(err)
	}
	welcome.Clock = time.Now()
	return welcome, p.control.send(typeWelcome, welcome)
}

// accept accepts one stream and reads its first two bytes: version and kind.
func (p *parent) accept(ctx context.Context) error {
	s, err := p.conn.AcceptStream(ctx)
	if err != nil {
		return err
	}
	var first [2]byte
	if _, err := io.ReadFull(s, first[:]); err != nil {
		return err
	}
	if first[0] != wire.Version {
		if p.others++; first[1] != kindControl && p.others < childStreams {
			return nil // the child reads why it is refused from its control stream, which it opens last
		}
		p.control = newControl(s, p.Meter)
		return p.refuse(
			&Refused{
				Reason:  "Version",
				Message: fmt.Sprintf("the child speaks protocol version %d, this center %d", first[0], wire.Version),
			},
		)
	}
	switch kind := first[1]; {
	case kind == kindControl && p.control == nil:
		p.control = newControl(s, p.Meter)
	case kind == kindDesired && p.desired == nil:
		p.desired = s
	case kind == kindReported && p.reported == nil:
		p.reported = s
	default:
		return fmt.Errorf("%w: a stream of kind %d", ErrProtocol, kind)
	}
	return nil
}

func (p *parent) admit(ctx context.Context, hello Hello) (Welcome, error) {
	if hello.Dictionary != compress.DictionaryName() {
		return Welcome{}, &Refused{
			Reason: "Dictionary",
			Message: fmt.Sprintf("the child compresses with dictionary %q, this center with %q: "+
				"update the older of the two", hello.Dictionary, compress.DictionaryName()),
		}
	}
	who := p.conn.Peer()
	if err := p.Admitter.Member(who); err != nil {
		return Welcome{}, err
	}
	if !who.NotAfter.IsZero() && time.Now().After(who.NotAfter) {
		p.Log.Info("the child's certificate has expired, it may renew it",
			"target", who.Target, "expired", who.NotAfter)
		return Welcome{RenewOnly: true}, nil
	}
	var err error
	p.admission, err = p.Admitter.Admit(ctx, who, hello)
	p.told, p.narrowed, p.wished = p.Use.Now(), p.Use.narrowed(), p.Use.wished()
	w := &p.admission.Welcome
	w.Link, w.Narrow, w.Wish, w.Changes = p.told, p.narrowed, p.wished, true
	return *w, err
}

// refuse sends the reason to the child and waits until it has gone.
func (p *parent) refuse(err error) error {
	told := &Refused{Reason: "Internal", Message: "the center cannot serve this session now", RetryAfter: openTime}
	errors.As(err, &told)
	if p.control.send(typeRefused, told) == nil {
		select {
		case <-p.conn.Done():
		case <-time.After(openTime):
		}
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// read takes what comes on the control stream; it ends with the connection.
func (p *parent) read() {
	for {
		t, payload, err := p.control.receive()
		if err == nil {
			err = ondemand.Apart(func() error { return p.heard(t, payload) })
		}
		if err != nil {
			p.ended(err)
			return
		}
	}
}

func (p *parent) heard(t wire.Type, payload []byte) error {
	switch t {
	case typeEcho:
		return p.blackhole.answer(payload)
	case typeWaiting:
		p.waits(payload)
	case typeConditions, typeChanges:
		return p.statusSaid(t, payload)
	case typeHolds:
		h, err := decode[CredentialStatus](payload)
		if err != nil {
			return err
		}
		if p.Listener != nil {
			p.Listener.Credentials(h)
		}
	case typeRequestLease:
		return p.leaseRequested(payload)
	case typeNotConnected:
		return p.notConnected(payload)
	case typeWanted:
		return p.wanted(payload)
	case typeRequest:
		csr, err := decode[[]byte](payload)
		if err != nil {
			return err
		}
		return p.control.send(typeCertificate, p.sign(p.ctx, csr))
	default:
		return fmt.Errorf("%w: frame type %d from a child", ErrProtocol, t)
	}
	return nil
}

func (p *parent) sign(ctx context.Context, csr []byte) certificate {
	chain, bundle, err := p.Admitter.Sign(ctx, p.conn.Peer(), csr)
	if err != nil {
		p.Log.Warn("a renewal was refused", "target", p.conn.Peer().Target, "err", err)
		return certificate{Error: err.Error()}
	}
	return certificate{Chain: chain, Bundle: bundle}
}

// send keeps the child's copy of the desired state.
func (p *parent) send() {
	o := delta.Down(delta.LAN)
	o.Policy, o.Shared, o.Tracer = p.Use.down, p.Shared, p.Tracer
	if p.Send != nil {
		o = *p.Send
	}
	o.OnStalled = p.blackhole.suspect
	if p.Listener != nil {
		o.OnAck, o.OnHeld = p.Listener.Acknowledged, p.Listener.Held
	}
	o.Log, o.Meter, o.Purpose = p.Log, p.Meter, traffic.OfDesired
	err := delta.Send(p.ctx, p.desired, p.admission.Feed, o)
	if errors.Is(err, delta.ErrHeld) {
		p.Log.Warn("the child holds", "target", p.conn.Peer().Target, "err", err)
		p.ended(nil)
		return
	}
	p.ended(fmt.Errorf("send the desired state: %w", err))
}

// receive keeps the copy of the child's reports.
func (p *parent) receive() {
	o := delta.ReceiveOptions{Recheck: p.Recheck, Log: p.Log, Meter: p.Meter, Purpose: traffic.OfReport}
	p.ended(fmt.Errorf("receive reports: %w", delta.Receive(p.ctx, p.reported, p.admission.Inbox, o)))
}
