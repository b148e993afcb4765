package uplink

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// ErrRefused is returned when the parent refused this site, or this site its parent, and a retry
// cannot mend that: token, CA, clock. The error that it is joined with says which, and what to do.
var ErrRefused = errors.New("joining was refused")

// Config is what an uplink works with.
type Config struct {
	// Dir has the credentials.
	Dir string
	// Parents are the addresses of the one parent, https://HOST:PORT each, the preferred one first.
	Parents []string
	// Token is used once: when Dir has no credentials yet, or has those of another token.
	Token, Name string
	Labels      map[string]string
	// Named is called with the name that the parent knows the site by, once that is known: before a
	// session where the site has joined before. It may be nil.
	Named func(name string)
	// Proxy leads to addresses that are not reached directly; nil uses none.
	Proxy *proxy.Dialer
	// OnDial is called with each route that is tried; it may be nil.
	OnDial func(Route)
	// OnHeartbeat is called with the round trip of each heartbeat that the parent has answered. It
	// must not wait. It may be nil.
	OnHeartbeat func(took time.Duration)
	// Keep stores durably which route to the parent was good; nil forgets it with the process.
	Keep Keep
	// Hello is called before each session.
	Hello func(ctx context.Context) tunnel.Hello
	// Welcomed is called at the start of each session; it may be nil.
	Welcomed func(tunnel.Welcome)
	// OnSession is called when the parent has let a session in (open), and with the cause when the
	// site has none any more. It may be nil.
	OnSession func(way Route, open bool, why error)
	// Desired and Reported are the two ends of the session. Reports flow once ReportedReady is
	// closed.
	Desired       store.Sink
	Reported      *store.Feed
	ReportedReady <-chan struct{}
	// Clock judges the parent's certificate and learns the time from the parent. Nil means a new
	// one.
	Clock *enroll.Clock
	// OnAccept carries out what an admin has confirmed, see tunnel.ChildConfig.
	OnAccept func(tunnel.Accept) (again bool, err error)
	// OnNarrow receives what the parent takes away from what the site allows, see
	// tunnel.ChildConfig.
	OnNarrow func(*tunnel.Narrow)
	// OnWish receives what the parent wishes, see tunnel.ChildConfig.
	OnWish func(tunnel.Wish)
	// Lease is what the site keeps of its lease; nil never asks for one.
	Lease tunnel.LeaseHolder
	// OnTraced is called for desired entries that belong to a trace, see tunnel.ChildConfig.
	OnTraced func(k store.Key, ids wire.TraceIDs)
	// Conditions are what the site reports about itself.
	Conditions *tunnel.Conditions
	// Streams serves the streams that the parent opens into this site, over a data connection that
	// is there only while the parent needs it. Nil refuses that connection.
	Streams tunnel.StreamHandler
	// Upward opens streams to the parent; it may be nil.
	Upward *Upward
	// Data counts data connections; it may be nil.
	Data *data.Metrics
	// Meter counts what crosses; it may be nil.
	Meter *traffic.Meter
	Log   *slog.Logger

	firstRetry time.Duration // of QUIC from TCP; for tests
}

// Times of an uplink.
const (
	dialLimit   = 15 * time.Second
	explainTime = 10 * time.Second
	joinLimit   = time.Minute
)

// Run keeps the session until ctx ends. Before the site has joined it returns ErrRefused for what a
// person has to mend. After that it returns when the parent says in a session that it has removed
// this site (tunnel.ErrRemoved), or refuses it for good (tunnel.FinalRefusal).
func Run(ctx context.Context, cfg Config) error {
	parents, err := parseParents(cfg.Parents)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if cfg.Clock == nil {
		cfg.Clock = enroll.NewClock(enroll.ClockState{})
	}
	u := &uplink{
		Config:     cfg,
		parents:    parents,
		goodRoutes: openLastGoodRoutes(cfg.Keep, cfg.Log),
		instance:   rand.Text(),
		woken:      make(chan struct{}, 1),
		heard:      time.Now(),
		better:     retry{first: cmp.Or(cfg.firstRetry, firstRetry)},
	}
	if err := u.join(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	u.dialer = &dialer{
		tls:   func() *tls.Config { return u.credentials.TLS() },
		proxy: cfg.Proxy,
		wake:  u.wake,
		beat:  cfg.OnHeartbeat,
		on:    cfg.OnDial,
		log:   cfg.Log,
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() { u.watchClock(ctx) })
	if u.reach = u.newReach(ctx); u.reach != nil {
		defer u.reach.running.Wait()
		defer cancel()
	}
	return u.sessions(ctx)
}

type uplink struct {
	Config
	parents     []parent
	credentials *enroll.Credentials
	dialer      *dialer
	goodRoutes  *lastGoodRoutes
	reach       *reach // nil where the site serves no streams
	instance    string
	joinAgain   bool       // there is a token that these credentials did not come from
	explained   complaints // reasons of failed dials since the last session

	failures int           // tries since the last session
	refusals int           // of those, in a row, because the parent had no room
	patience time.Duration // with a silent parent; grows with false alarms
	heard    time.Time     // when a session ended the last time
	forsaken time.Time     // when a session was given up that the parent had not let in
	doubts   int           // how many were since it has let one in
	better   retry         // when QUIC is tried again from TCP

	secret secret
	woken  chan struct{}

	told told
}

// sessions serves one session after the other, until the parent ends one for good.
func (u *uplink) sessions(ctx context.Context) error {
	var s *session
	for ctx.Err() == nil {
		var err error
		if s == nil {
			s, err = u.begin(ctx)
		}
		if s != nil {
			s, err = u.supervise(ctx, s)
		}
		if s != nil || ctx.Err() != nil {
			continue
		}
		if errors.Is(err, tunnel.ErrRemoved) || tunnel.FinalRefusal(err) != nil {
			return err
		}
		u.failures++
		failures := u.failures
		if quic.Crowded(err) {
			u.refusals++
			failures = u.refusals
		} else {
			u.refusals = 0
		}
		ondemand.Pause(ctx, waitAfter(err, failures, time.Since(u.heard)))
	}
	return nil
}

// begin dials and starts a session.
func (u *uplink) begin(ctx context.Context) (*session, error) {
	u.rejoin(ctx)
	conn, way, err := u.dial(patience(u.failures), u.heard, u.dialLastGood)(ctx)
	if err != nil {
		if ctx.Err() == nil {
			u.Meter.DialFailed()
			u.explain(u.reason(ctx, err))
		}
		return nil, err
	}
	return u.start(ctx, conn, way, nil), nil
}

// reason finds out why a dial failed although somebody answered. It asks over another route, to
// tell a wrong CA from a wrong clock.
func (u *uplink) reason(ctx context.Context, err error) error {
	if !answered(err) || u.Proxy.Uses(u.parents[0].hostPort) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	return u.credentials.Explain(ctx, u.parents[0].url, err)
}

// explain logs why there is no session, each reason now and then.
func (u *uplink) explain(err error) {
	if text, ok := u.explained.allow(err, time.Now()); ok {
		u.Log.Warn("no session with the parent, still trying; the site goes on as it is",
			"parent", u.Parents, "err", text)
	}
}
