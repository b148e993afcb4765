package uplink

import (
	"context"
	"errors"
	"time"

	"skerry.dev/skerry/tunnel"
)

// welcomeTime is how long a parent that is heard may take to let in a session that replaces
// another. Without another session it has twice as long. A silent parent is noticed earlier.
const welcomeTime = 10 * time.Second

// dialled is a connection that was dialled while a session runs.
type dialled struct {
	conn tunnel.Conn
	way  Route
	err  error
}

// dialFunc finds a connection to the parent. One runs at a time.
type dialFunc func(context.Context) (tunnel.Conn, Route, error)

// second is a dial beside a running session.
type second struct {
	why    string
	result chan dialled
	cancel context.CancelFunc
}

// The reasons for a second dial.
const (
	becauseSilent  = "the parent is not heard any more"
	becauseStalled = "the parent was silent for long"
	becauseWoken   = "the parent says that it was restarted"
	becauseBetter  = "QUIC may get through again"
)

func (u *uplink) second(ctx context.Context, why string, dial dialFunc) *second {
	ctx, cancel := context.WithCancel(ctx)
	d := &second{why: why, result: make(chan dialled, 1), cancel: cancel}
	go func() {
		defer cancel()
		conn, way, err := dial(ctx)
		d.result <- dialled{conn, way, err}
	}()
	return d
}

// drop gives a dial up.
func (d *second) drop() {
	d.cancel()
	if r := <-d.result; r.err == nil {
		r.conn.Close(nil)
	}
}

// supervise supervises a session. It dials another connection when the parent falls silent, wakes
// this site after a restart, or may be reached over QUIC again. The session goes on until the
// parent has let the other one in. A session that the parent has not let in ends as soon as the
// other connection is made. It returns the session that replaced this one, or why there is none.
func (u *uplink) supervise(ctx context.Context, s *session) (next *session, err error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.NewTimer(2 * welcomeTime)
	defer late.Stop()
	alive, better := u.listen(s), u.whenBetter(s)
	defer func() { u.patience = alive.patience }()
	var other *second
	var results <-chan dialled
	finish := func() { other, results = nil, nil }
	drop := func() {
		if other != nil {
			other.drop()
			finish()
		}
	}
	begin := func(why string, dial dialFunc) {
		drop()
		other = u.second(ctx, why, dial)
		results = other.result
	}
	// needed reports whether a dial is to begin because the session may be dead. One that tries QUIC
	// alone does not count, because QUIC may not get through.
	needed := func() bool { return other == nil || other.why == becauseBetter }
	for {
		select {
		case <-s.done:
			u.better.lasted(time.Since(s.began))
			err := u.over(ctx, s)
			if needed() || ctx.Err() != nil || errors.Is(err, tunnel.ErrRemoved) || tunnel.FinalRefusal(err) != nil {
				drop()
				return nil, err
			}
			if r := <-results; r.err == nil { // the second dial replaces the session
				return u.start(ctx, r.conn, r.way, nil), nil
			}
			return nil, err
		case <-late.C:
			if !s.letIn() {
				u.forsake(s)
			}
		case <-look.C:
			silent := alive.silent()
			switch {
			case silent && needed():
				u.Log.Info("dialling the parent again beside the session", "why", becauseSilent)
				begin(becauseSilent, u.dial(longHandshake, alive.heard, s.firstOnItsWay))
			case !silent && other != nil && other.why == becauseSilent && alive.stalled():
				other.why = becauseStalled
			case !silent && other != nil && other.why == becauseSilent:
				drop()
				alive.wrong()
			}
		case <-u.woken:
			if needed() {
				u.Log.Info("dialling the parent again beside the session", "why", becauseWoken)
				begin(becauseWoken, u.dial(longHandshake, time.Now(), u.dialLastGood))
			}
		case <-better:
			if other == nil {
				begin(becauseBetter, u.dialQUIC(s))
			}
			better = u.whenBetter(s)
		case r := <-results:
			why := other.why
			finish()
			if why == becauseSilent && r.err == nil && !alive.silent() && !alive.stalled() {
				r.conn.Close(nil) // the parent was heard again over the session
				alive.wrong()
				continue
			}
			if r.err != nil {
				u.Log.Debug("a second dial failed", "why", why, "err", r.err)
				continue
			}
			// A session that was not let in ends first. Else the parent may take its hello for the
			// newer one.
			if !s.letIn() {
				u.forsake(s)
				return u.start(ctx, r.conn, r.way, nil), nil
			}
			if next := u.replace(ctx, s, r); next != nil {
				u.better.lasted(time.Since(s.began))
				return next, nil
			}
		}
	}
}

// uses returns a function that reports whether the desired or the reported state has changed since
// its last call.
func (u *uplink) uses() func() bool {
	down, up := u.Desired.Position(), u.Reported.Head()
	return func() bool {
		wasDown, wasUp := down, up
		down, up = u.Desired.Position(), u.Reported.Head()
		return down != wasDown || up != wasUp
	}
}

// whenBetter fires when a session over TCP should try QUIC.
func (u *uplink) whenBetter(s *session) <-chan time.Time {
	if s.way.Transport != overTCP || u.Proxy.Uses(s.way.Parent) {
		return nil
	}
	return time.After(u.better.next())
}

// replace starts a session over the new connection. It returns nil, and leaves the old session as
// it is, if the parent does not let the new one in.
func (u *uplink) replace(ctx context.Context, old *session, r dialled) *session {
	next := u.start(ctx, r.conn, r.way, old)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	patience := time.NewTimer(welcomeTime)
	defer patience.Stop()
	alive, waits := u.listen(next), true
	for waits {
		select {
		case <-next.welcomed: // it ends the old one now
			return next
		case <-look.C:
			waits = !alive.silent()
		case <-next.done:
			waits = false
		case <-patience.C:
			waits = false
		}
	}
	u.forsake(next)
	if next.letIn() {
		return next
	}
	u.Log.Debug("the parent did not let a second session in", "err", next.err)
	return nil
}

// besideHeadStart is short because a route that fell silent is probably dead. It is not zero
// because the parent may only be busy.
const besideHeadStart = 100 * time.Millisecond

// firstOnItsWay is the order in which a silent parent is dialled: the session's own route first.
func (s *session) firstOnItsWay(ways []Route, _ string) []start {
	starts := plan(ways, s.way, s.conn.Stats().RTT)
	if len(starts) > 1 {
		starts[1].after = besideHeadStart
	}
	return starts
}

// dialQUIC dials the address of a session over TCP by QUIC alone.
func (u *uplink) dialQUIC(s *session) dialFunc {
	return func(ctx context.Context) (tunnel.Conn, Route, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		way := Route{s.way.Parent, s.way.Address, overQUIC}
		conn, err := u.dialer.dial(longHandshake)(ctx, way, new(dialActivity))
		if err == nil {
			u.goodRoutes.record(networkOf(way.Address), way, conn.Stats().RTT)
		}
		return conn, way, err
	}
}
