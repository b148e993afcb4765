package uplink

import (
	"context"
	"time"

	"skerry.dev/skerry/tunnel"
)

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
