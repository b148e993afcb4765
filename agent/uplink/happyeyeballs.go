package uplink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
)

// start is when a route is tried at the latest, from the beginning of the race. It is tried earlier
// when all before it have failed.
type start struct {
	way   Route
	after time.Duration
}

// raced is the result of one route.
type raced struct {
	index int
	conn  tunnel.Conn
	err   error
}

// happyEyeballs dials several routes, each a little after the one before, and returns the first
// connection that is made. It closes all others. It fails when all have, with the errors of all.
// While the parent answers on one route no other is begun. If a parent has no room, TCP to the same
// address is left out, unless stubborn. It changes starts.
func happyEyeballs(
	ctx context.Context,
	starts []start,
	stubborn bool,
	answers *dialActivity,
	dial Dial,
) (tunnel.Conn, Route, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan raced, len(starts))
	errs := make([]error, len(starts))
	began, next, running := time.Now(), 0, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	var dials sync.WaitGroup
	defer dials.Wait()
	launch := func() {
		index, way := next, starts[next].way
		dials.Go(func() {
			conn, err := dial(ctx, way, answers)
			results <- raced{index, conn, err}
		})
		next++
		running++
		if next < len(starts) {
			timer.Reset(max(0, starts[next].after-time.Since(began)))
		}
	}
	for next < len(starts) || running > 0 {
		select {
		case now := <-timer.C:
			if next == len(starts) {
				continue
			}
			due := began.Add(starts[next].after)
			if hold := answers.hold(now, due); hold > 0 && running > 0 {
				timer.Reset(hold)
				continue
			}
			began = began.Add(now.Sub(due)) // those after it keep their distance
			launch()
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				dials.Wait()
				closeRest(results, running)
				return r.conn, starts[r.index].way, nil
			}
			errs[r.index] = fmt.Errorf("%s: %w", starts[r.index].way, r.err)
			if quic.Crowded(r.err) && !stubborn {
				full := starts[r.index].way.Address
				rest := slices.DeleteFunc(starts[next:], func(s start) bool { return s.way.Address == full })
				starts = starts[:next+len(rest)]
			}
			if running == 0 && next < len(starts) && ctx.Err() == nil {
				launch()
			}
		case <-ctx.Done():
			cancel()
			dials.Wait()
			closeRest(results, running)
			return nil, Route{}, errors.Join(append(errs, context.Cause(ctx))...)
		}
	}
	return nil, Route{}, errors.Join(errs...)
}

// closeRest closes connections that come too late.
func closeRest(results <-chan raced, n int) {
	for range n {
		if r := <-results; r.err == nil {
			r.conn.Close(nil)
		}
	}
}

// headStart is how long a route has before the next one begins: a handshake's time on a path whose
// round trip is known.
func headStart(rtt time.Duration) time.Duration { return max(300*time.Millisecond, rtt*3/2) }

// goodHeadStart is the least head start of the route that was good the last time. If that does not
// answer, the parent is more likely busy than the route gone.
const goodHeadStart = time.Second

// plan returns when each route is tried. Addresses come in the order given, each over QUIC first.
// The route that was good the last time comes before all others.
func plan(ways []Route, good Route, rtt time.Duration) []start {
	head := headStart(rtt)
	out := make([]start, 0, len(ways))
	for i, w := range ways {
		if w == good && i > 0 {
			rest := append(append([]Route{w}, ways[:i]...), ways[i+1:]...)
			ways = rest
			break
		}
	}
	after := time.Duration(0)
	for _, w := range ways {
		out = append(out, start{w, after})
		if after += head; w == good {
			after = max(head, goodHeadStart)
		}
	}
	return out
}
