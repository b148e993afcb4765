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

// supervise supervises a session. It dials another connection when the parent falls silent, wakes
// this site after a restart, or may be reached over QUIC again. The session goes on until the
// parent has let the other one in. A session that the parent has not let in ends as soon as the
// other connection is made. It returns the session that replaced this one, or why there is none.
func (u *uplink) supervise(ctx context.Context, s *session) (next *session, err error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.NewTimer(2 * welcomeTime)
	defer late.Stop()
	v := &supervised{uplink: u, session: s, alive: u.listen(s)}
	defer func() { u.patience = v.alive.patience }()
	better := u.whenBetter(s)
	for {
		select {
		case <-s.done:
			return v.ended(ctx)
		case <-late.C:
			if !s.letIn() {
				u.forsake(s)
			}
		case <-look.C:
			v.inspect(ctx)
		case <-u.woken:
			v.woke(ctx)
		case <-better:
			if v.other == nil {
				v.dialBeside(ctx, becauseBetter, u.dialQUIC(s))
			}
			better = u.whenBetter(s)
		case r := <-v.results:
			if next := v.connected(ctx, r); next != nil {
				return next, nil
			}
		}
	}
}

// supervised is a session, and the dial beside it when one is under way.
type supervised struct {
	*uplink
	session *session
	alive   listener
	other   *second        // nil without a dial
	results <-chan dialled // of other
}

// dialBeside dials beside the session. It gives up a dial that is under way.
func (v *supervised) dialBeside(ctx context.Context, why string, dial dialFunc) {
	v.drop()
	v.other = v.second(ctx, why, dial)
	v.results = v.other.result
}

// drop gives up the dial beside the session, if there is one.
func (v *supervised) drop() {
	if v.other != nil {
		v.other.drop()
		v.forget()
	}
}

// forget is called when the result of the dial is received.
func (v *supervised) forget() { v.other, v.results = nil, nil }

// needed reports whether a dial is to begin because the session may be dead. One that tries QUIC
// alone does not count, because QUIC may not get through.
func (v *supervised) needed() bool { return v.other == nil || v.other.why == becauseBetter }

// ended returns what follows a session that has ended: a session over the connection that is being
// dialled, or why there is none.
func (v *supervised) ended(ctx context.Context) (*session, error) {
	v.better.lasted(time.Since(v.session.began))
	err := v.over(ctx, v.session)
	final := errors.Is(err, tunnel.ErrRemoved) || tunnel.FinalRefusal(err) != nil
	if v.needed() || ctx.Err() != nil || final {
		v.drop()
		return nil, err
	}
	if r := <-v.results; r.err == nil {
		return v.start(ctx, r.conn, r.way, nil), nil
	}
	return nil, err
}

// inspect dials beside the session when the parent falls silent. It gives that dial up when the
// parent is heard again, unless the silence was long.
func (v *supervised) inspect(ctx context.Context) {
	silent := v.alive.silent()
	if silent && v.needed() {
		v.Log.Info("dialling the parent again beside the session", "why", becauseSilent)
		v.dialBeside(ctx, becauseSilent, v.dial(longHandshake, v.alive.heard, v.session.firstOnItsWay))
		return
	}
	if silent || v.other == nil || v.other.why != becauseSilent {
		return
	}
	if v.alive.stalled() {
		v.other.why = becauseStalled
		return
	}
	v.drop()
	v.alive.wrong()
}

// woke dials beside the session because the parent says that it was restarted.
func (v *supervised) woke(ctx context.Context) {
	if v.needed() {
		v.Log.Info("dialling the parent again beside the session", "why", becauseWoken)
		v.dialBeside(ctx, becauseWoken, v.dial(longHandshake, time.Now(), v.dialLastGood))
	}
}

// connected takes the result of the dial beside the session. It returns the session over the new
// connection, and nil if the old one goes on.
func (v *supervised) connected(ctx context.Context, r dialled) *session {
	why := v.other.why
	v.forget()
	if why == becauseSilent && r.err == nil && !v.alive.silent() && !v.alive.stalled() {
		r.conn.Close(nil) // the parent was heard again over the session
		v.alive.wrong()
		return nil
	}
	if r.err != nil {
		v.Log.Debug("a second dial failed", "why", why, "err", r.err)
		return nil
	}
	// A session that was not let in ends first. Else the parent may take its hello for the newer
	// one.
	if !v.session.letIn() {
		v.forsake(v.session)
		return v.start(ctx, r.conn, r.way, nil)
	}
	next := v.replace(ctx, v.session, r)
	if next != nil {
		v.better.lasted(time.Since(v.session.began))
	}
	return next
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
