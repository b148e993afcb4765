package uplink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"skerry.dev/skerry/tunnel"
)

// stood is a connection that was made, its route, and the network that it was made in.
type stood struct {
	conn    tunnel.Conn
	way     Route
	network string
}

// try races the routes to the parent once.
type try func(context.Context) (stood, error)

// Times of fresh tries beside one that is not answered.
const (
	shortestGap = time.Second
	freshTime   = 2 * time.Second // in which a fresh try is answered, or was in vain
	// manyRefusals is how often in a row a parent has no room before it is asked over TCP, too.
	// Somebody may keep only QUIC busy.
	manyRefusals = 4
)

// gapAfter returns how long after one fresh dial the next one begins: about a second, and more the
// longer nothing was heard. So the parent is found within a fraction of the outage, and little is
// sent into a long one. Jitter spreads sites that lost their parent at the same moment.
func gapAfter(silent time.Duration) time.Duration {
	gap := min(longestWait, max(shortestGap, silent/10))
	return gap/2 + rand.N(gap)
}

// redial dials until a connection is made or the first dial has failed. That one has time, because
// the path may be slow. But it repeats its packets ever less often, and would notice the end of an
// outage late. So fresh dials are made beside it, one at a time, unless it is answered. heard is
// when something was last heard of the parent.
func redial(ctx context.Context, heard time.Time, answers *dialActivity, first, fresh try) (stood, error) {
	type result struct {
		stood
		err   error
		first bool
	}
	ctx, cancel := context.WithCancel(ctx)
	results, running := make(chan result, 2), 0
	launch := func(t try, isFirst bool) {
		running++
		go func() {
			s, err := t(ctx)
			results <- result{s, err, isFirst}
		}()
	}
	defer func() {
		cancel()
		for range running {
			if r := <-results; r.err == nil { // it stands too late
				r.conn.Close(nil)
			}
		}
	}()
	launch(first, true)
	next := time.Now().Add(gapAfter(time.Since(heard)))
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case now := <-timer.C:
			if hold := answers.hold(now, next); hold > 0 {
				timer.Reset(hold)
				continue
			}
			next = time.Now().Add(gapAfter(time.Since(heard)))
			launch(func(ctx context.Context) (stood, error) {
				ctx, cancel := context.WithTimeout(ctx, freshTime)
				defer cancel()
				return fresh(ctx)
			}, false)
		case r := <-results:
			running--
			if r.err == nil || r.first {
				return r.stood, r.err
			}
			timer.Reset(time.Until(next))
		}
	}
}

// order returns when each route is tried, of those that lead to the parent in a network.
type order func(ways []Route, network string) []start

// dialLastGood begins with the route that was good the last time.
func (u *uplink) dialLastGood(ways []Route, network string) []start {
	good, rtt := u.goodRoutes.good(network)
	return plan(ways, good, rtt)
}

// try races all routes to the parent, each with this patience.
func (u *uplink) try(patience time.Duration, order order, answers *dialActivity) try {
	stubborn := u.refusals >= manyRefusals
	return func(ctx context.Context) (stood, error) {
		ways, network, err := u.routes(ctx)
		if err != nil {
			return stood{}, err
		}
		conn, way, err := happyEyeballs(ctx, order(ways, network), stubborn, answers, u.dialer.dial(patience))
		if err != nil {
			return stood{}, fmt.Errorf("dial parent: %w", err)
		}
		return stood{conn, way, network}, nil
	}
}

// dial makes a connection to the parent by redial. heard is when the parent was last heard.
func (u *uplink) dial(patience time.Duration, heard time.Time, order order) dialFunc {
	answers := new(dialActivity) // of the first try alone
	first, fresh := u.try(patience, order, answers), u.try(shortHandshake, order, new(dialActivity))
	return func(ctx context.Context) (tunnel.Conn, Route, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		s, err := redial(ctx, heard, answers, first, fresh)
		if err != nil {
			return nil, Route{}, err
		}
		u.goodRoutes.record(s.network, s.way, s.conn.Stats().RTT)
		return s.conn, s.way, nil
	}
}
