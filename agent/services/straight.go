package services

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// A Service that serves an import has no Pods, and what answers for it may be at this very site, of another Service and
// another space. The parent says so when it is asked for a connection. For a while further callers are led there
// straight, as those of every Service are to its Pods at their site. Then the parent is asked again: it knows whether
// that is still exported. While the parent does not answer, what it has said last holds.

const (
	// straightTime is for how long callers are led straight to what the parent has named.
	straightTime = time.Minute
	// straightTurn is how long what is here may take to connect, before the parent is asked.
	straightTurn = time.Second
)

// straight is what answers for a Service at this site, as the parent has said. The zero value is nothing.
type straight struct {
	mu    sync.Mutex
	all   []upward.Here
	until time.Time
}

// learn takes over what the parent has said.
func (s *straight) learn(all []upward.Here) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.until = all, time.Now().Add(straightTime)
}

// now are those to which callers may be led, in no order; with the last word of the parent also when that is old.
func (s *straight) now(old bool) []upward.Here {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !old && !time.Now().Before(s.until) {
		return nil
	}
	all := slices.Clone(s.all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// isAway reports whether the parent has said nothing to a call.
func isAway(err error) bool { return errors.Is(err, upward.ErrAway) }

// callStraight connects a caller to a Service at this site that answers for the one that it calls. It returns nil where
// none does.
func callStraight(ctx context.Context, s *Services, e wish, old bool) io.ReadWriteCloser {
	if s.Here == nil {
		return nil
	}
	for _, is := range e.here.now(old) {
		of, known := calleeAt(s, is)
		if !known || s.Idle(of.at.namespace, of.at.service) {
			continue
		}
		began, from, asked := time.Now(), e.from, ctx
		foreign := of.key.Space != e.of.key.Space
		if foreign {
			from, asked = exchange.AddressOf(e.from), exchange.Untraced(ctx)
		}
		conn := inTime(asked, func(ctx context.Context) (io.ReadWriteCloser, error) {
			return callHere(ctx, s, of, e.doorKey, from)
		})
		if conn == nil {
			continue // the parent says why, or knows another one
		}
		if foreign {
			exchange.TraceOf(ctx).Add(exchange.Hop{At: ".", Reason: exchange.Answered,
				Message: "space " + is.Space + " answers, at this site", Micros: time.Since(began).Microseconds()})
		}
		return conn
	}
	return nil
}

// inTime connects, within straightTurn. The connection ends with ctx.
func inTime(ctx context.Context, connect func(context.Context) (io.ReadWriteCloser, error)) io.ReadWriteCloser {
	ctx, end := context.WithCancel(ctx)
	late := time.AfterFunc(straightTurn, end)
	conn, err := connect(ctx)
	if inTime := late.Stop(); inTime && err == nil {
		return conn
	}
	if end(); err == nil {
		conn.Close()
	}
	return nil
}

// calleeAt finds a Service of this site.
func calleeAt(s *Services, is upward.Here) (callee, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		k := e.of.key
		if (upward.Here{Space: k.Space, Namespace: k.Namespace, Service: k.Name, UID: e.of.origin}) == is {
			return e.of, true
		}
	}
	return callee{}, false
}
