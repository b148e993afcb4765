package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// ChildConfig is what a child brings into a session.
type ChildConfig struct {
	Hello Hello
	// Desired is the copy of what the parent wants.
	Desired store.Sink
	// Reported is sent to the parent once ReportedReady is closed; nil means at once. An incomplete
	// feed must not be sent: the parent drops every report that the feed lacks.
	Reported      *store.Feed
	ReportedReady <-chan struct{}
	// Send are the options of Reported; nil means delta.Up with the parent's FlowPolicy.
	Send *delta.SendOptions
	// OnWelcome and Renewal may be nil.
	OnWelcome func(Welcome)
	// TakeOver ends the session that this one replaces, and returns when nothing of it runs any
	// more. It is called when the parent has let this session in. Nothing is received or reported
	// before, because two sessions must not write one copy. Without a session to replace it is nil:
	// then positions and data follow the hello at once.
	TakeOver func()
	Renewal  *Renewal
	// OnAccept carries out what an admin has confirmed. If it returns true, the session ends with
	// ErrAgain. Nil ignores the frame.
	OnAccept func(Accept) (again bool, err error)
	// OnNarrow receives what the parent takes away from what the site allows; nil for nothing. It
	// is called with the welcome and at each change. It may be nil.
	OnNarrow func(*Narrow)
	// OnWish receives what the parent wishes, with the welcome and at each change. It may be nil.
	OnWish func(Wish)
	// Lease is what the child keeps of its lease; nil never asks for one.
	Lease LeaseHolder
	// OnConnect brings a data connection up, as the parent asks, and must not wait. It calls failed
	// where it cannot. Nil refuses.
	OnConnect func(n Number, failed func(why error))
	// Wanted asks the parent to ask for a data connection, each time that it receives. Nil never
	// does.
	Wanted <-chan Wanted
	// Conditions are told to the parent, and ServeChild sets CenterTrusted. Nil is a list of the
	// session's own.
	Conditions *Conditions
	// OnTraced is called for each desired entry that belongs to a trace, before it is stored. Nil asks
	// the parent not to tell.
	OnTraced func(k store.Key, ids wire.TraceIDs)
	// Probe asks the parent for a heartbeat each time that it receives. Nil never does.
	Probe <-chan struct{}
	// Meter counts what crosses; it may be nil.
	Meter *traffic.Meter
	Log   *slog.Logger
}

// ServeChild runs one session over a connection that the child has dialled, until ctx ends or the
// session does. It then closes the connection. It always returns an error: *Refused, ErrDraining,
// ErrReplaced, ErrRenewed, or what broke. A parent that is held (store.ErrRegressed) does not end
// the session: reports go on, and the parent is told.
func ServeChild(ctx context.Context, conn Conn, cfg ChildConfig) error {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Conditions == nil {
		cfg.Conditions = &Conditions{}
	}
	c := &child{
		ChildConfig: cfg,
		conn:        conn,
		answers:     make(chan certificate, 1),
		bundles:     make(chan Bundle, 1),
		welcomed:    make(chan Welcome, 1),
		terms:       delta.NewRegulator(delta.LAN.Up()),
		linked:      make(chan struct{}),
		turn:        make(chan struct{}),
		askLease:    make(chan struct{}, 1),
	}
	if cfg.TakeOver == nil {
		close(c.turn)
	}
	cfg.Meter.Open(link{conn})
	err := c.open(ctx)
	if err == nil {
		c.blackhole.control, c.blackhole.conn, c.blackhole.found = c.control, conn, cancel
		// The parts end after the connection if there is a reason to tell: else the parent would see a
		// broken stream before the reason.
		running, end := context.WithCancel(context.WithoutCancel(ctx))
		var parts sync.WaitGroup
		context.AfterFunc(ctx, func() {
			if why := context.Cause(ctx); CodeOf(why) != 0 {
				_ = conn.Close(why)
			}
			end()
			c.control.stream.Cancel()
		})
		for _, part := range []func(context.Context) error{c.read, c.keepAlive, c.sendConditions, c.receive,
			c.report, c.wanted, c.renewLease, c.ended} {
			parts.Go(func() {
				if err := part(running); err != nil {
					cancel(err)
				}
			})
		}
		parts.Wait()
		end()
		c.blackhole.end()
		err = context.Cause(ctx)
	}
	var refused *Refused
	if outer.Err() == nil && !errors.As(err, &refused) && !errors.Is(err, ErrRenewed) {
		select { // the reason may be right behind what it broke
		case <-conn.Done():
		case <-time.After(reasonTime):
		}
	}
	err = whyEnded(conn, err)
	cfg.Meter.Ended(link{conn}, endOf(err))
	return errors.Join(err, conn.Close(err))
}

// reasonTime is how long a child waits for the reason of a broken stream.
const reasonTime = 200 * time.Millisecond

// whyEnded prefers the reason that the peer gave, or the peer's silence, over the local error that
// these caused.
func whyEnded(conn Conn, err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return err
	}
	if why := conn.Err(); why != nil && (CodeOf(why) != 0 || silent(why)) {
		return why
	}
	return err
}

type child struct {
	ChildConfig
	conn              Conn
	control           *control
	desired, reported Stream
	answers           chan certificate
	bundles           chan Bundle // the last one that is not carried out yet
	welcomed          chan Welcome
	terms             *delta.Regulator
	linked            chan struct{} // closed when the parent has said how the link is used
	saysChanges       bool          // see Welcome.Changes; set before linked is closed
	turn              chan struct{} // closed when data may flow
	blackhole         mtuBlackhole
	askLease          chan struct{} // has a request for the lease sent; one slot
}

// open opens the three streams and sends Hello. It waits for nothing: positions and data follow at
// once.
func (c *child) open(ctx context.Context) error {
	streams := map[byte]Stream{}
	for _, kind := range []byte{kindControl, kindDesired, kindReported} {
		s, err := c.conn.OpenStream(ctx)
		if err != nil {
			return fmt.Errorf("open a stream: %w", err)
		}
		streams[kind] = s
		if kind == kindControl {
			continue // its first bytes go with the hello
		}
		if _, err := s.Write([]byte{wire.Version, kind}); err != nil {
			return fmt.Errorf("open a stream: %w", err)
		}
	}
	c.control, c.desired, c.reported = newControl(
		streams[kindControl],
		c.Meter,
	), streams[kindDesired], streams[kindReported]
	c.Hello.Dictionary = compress.DictionaryName()
	if c.Renewal != nil && c.Renewal.Status != nil {
		holds := c.Renewal.Status()
		c.Hello.Credentials = &holds
	}
	if c.Hello.Clock.IsZero() {
		c.Hello.Clock = time.Now()
	}
	if _, err := c.control.stream.Write([]byte{wire.Version, kindControl}); err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	return c.control.send(typeHello, c.Hello)
}

// ended ends the session with the connection.
func (c *child) ended(ctx context.Context) error {
	select {
	case <-c.conn.Done():
		return fmt.Errorf("the connection ended: %w", c.conn.Err())
	case <-ctx.Done():
		return nil
	}
}

// read handles the frames of the control stream.
func (c *child) read(ctx context.Context) error {
	welcomed := false
	for {
		t, payload, err := c.control.receive()
		if err != nil {
			return err
		}
		switch t {
		case typeWelcome:
			w, err := decode[Welcome](payload)
			if err != nil {
				return err
			}
			if welcomed {
				return fmt.Errorf("%w: welcomed twice", ErrProtocol)
			}
			welcomed = true
			if c.TakeOver != nil {
				c.TakeOver()
				close(c.turn)
			}
			c.use(w.Link)
			c.saysChanges = w.Changes
			close(c.linked)
			if !w.RenewOnly {
				c.narrow(w.Narrow)
				c.wish(w.Wish)
				if c.Lease != nil {
					c.Lease.Begin()
					c.askForLease()
				}
			}
			if c.OnWelcome != nil {
				c.OnWelcome(w)
			}
			c.welcomed <- w
		case typeBundle:
			b, err := decode[Bundle](payload)
			if err != nil {
				return err
			}
			select { // only the newest counts
			case <-c.bundles:
			default:
			}
			c.bundles <- b
		case typeEcho:
			if err := c.blackhole.answer(payload); err != nil {
				return err
			}
		case typeLink, typeNarrow, typeWish:
			if err := c.told(t, payload); err != nil {
				return err
			}
		case typeAskLease:
			c.askForLease()
		case typeLease:
			if err := c.leaseAnswered(payload); err != nil {
				return err
			}
		case typeConnect:
			if err := c.connect(payload); err != nil {
				return err
			}
		case typeAccept:
			if err := c.accept(payload); err != nil {
				return err
			}
		case typeRefused:
			r, err := decode[Refused](payload)
			if err != nil {
				return err
			}
			return &r
		case typeCertificate:
			answer, err := decode[certificate](payload)
			if err != nil {
				return err
			}
			select {
			case c.answers <- answer:
			default:
				return fmt.Errorf("%w: a certificate that was not asked for", ErrProtocol)
			}
		default:
			return fmt.Errorf("%w: frame type %d from a parent", ErrProtocol, t)
		}
	}
}

// tellPause is how long a change of the conditions waits for further changes.
const tellPause = 50 * time.Millisecond

// recentBytes bounds the latest bodies that a child keeps in memory, see delta.ReceiveOptions.
const recentBytes = 32 << 10

// receive keeps the copy of the desired state.
func (c *child) receive(ctx context.Context) error {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return nil
	}
	followed := func() { c.Conditions.Obey(nil) }
	held := func(why error) {
		c.Log.Error("the parent is held: nothing that it says is done until an admin accepts it there", "err", why)
		c.Conditions.Obey(why)
	}
	err := delta.Receive(
		ctx,
		c.desired,
		c.Desired,
		delta.ReceiveOptions{OnAdmit: followed, OnHold: held, Meter: c.Meter, Purpose: traffic.OfDesired, Log: c.Log,
			RecentBytes: recentBytes, OnTraced: c.OnTraced},
	)
	switch {
	case errors.Is(err, delta.ErrReleased):
		return ErrAgain
	case errors.Is(err, store.ErrRegressed):
		return nil // the parent has let go of the stream; reports go on
	default:
		return fmt.Errorf("receive the desired state: %w", err)
	}
}

// report sends the reports once the parent has said how to use the link.
func (c *child) report(ctx context.Context) error {
	for _, ready := range []<-chan struct{}{c.ReportedReady, c.linked, c.turn} {
		if ready == nil {
			continue
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	o := delta.Up(delta.LAN)
	o.Policy = c.terms
	if c.Send != nil {
		o = *c.Send
	}
	o.OnStalled = c.blackhole.suspect
	o.Log, o.Meter, o.Purpose = c.Log, c.Meter, traffic.OfReport
	return fmt.Errorf("send reports: %w", delta.Send(ctx, c.reported, c.Reported, o))
}

// use applies how the parent wants the link to be used.
func (c *child) use(l Link) {
	c.terms.Set(l.up())
	if k, ok := c.conn.(keeper); ok {
		k.KeepAlive(KeepAliveOf(l.Class))
	}
}
