package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// A connection that is traced is made as every other one. This center says whom it asks, and passes on what those say.

// tracedWay returns the context of one way, to a place, and what adds the Hops of that way once its end is known.
func tracedWay(ctx context.Context, place string) (of context.Context, told func(err error)) {
	all := exchange.TraceOf(ctx)
	if all == nil {
		return ctx, func(error) {}
	}
	began := time.Now()
	of, trace := exchange.Tracing(ctx)
	return of, func(err error) {
		switch cause := context.Cause(ctx); {
		case err != nil && errors.Is(cause, errOther):
			return // nobody waits for what it decides
		case err != nil && errors.Is(cause, errLate):
			err = errLate
		}
		hops := trace.Hops()
		answered := func(h exchange.Hop) bool { return h.Reason == exchange.Answered }
		if len(hops) == 0 || err == nil && !slices.ContainsFunc(hops, answered) { // of an older agent
			hops = []exchange.Hop{exchange.HopOf(place, err, time.Since(began))}
		}
		all.Add(hops...)
	}
}

// tells returns the context of a connection, and what tells this center's part of it before those of the places that it
// has asked.
func (*Services) tells(ctx context.Context) (of context.Context, told func(part func() exchange.Hop)) {
	all := exchange.TraceOf(ctx)
	if all == nil {
		return ctx, func(func() exchange.Hop) {}
	}
	began := time.Now()
	of, behind := exchange.Tracing(ctx)
	return of, func(part func() exchange.Hop) {
		own := part()
		own.At, own.Micros = ".", time.Since(began).Microseconds()
		all.Add(own)
		all.Add(behind.Hops()...)
	}
}

// asks says whom this center asks for a Service, for a target or for its parent, and whom it does not.
func (s *Services) asks(target string, k store.Key, places []place) exchange.Hop {
	var whom []string
	for _, p := range places {
		at := p.target
		if p.foreign {
			at = "space " + p.k.Space
		} else if at == parent {
			at = "its parent"
		} else if rtt, known := s.RTT(at); known {
			at += " (" + rtt.Round(10*time.Microsecond).String() + " away)"
		}
		if !slices.Contains(whom, at) {
			whom = append(whom, at)
		}
	}
	hop := exchange.Hop{Reason: exchange.Asks, Message: "it asks " + strings.Join(whom, ", then ")}
	if len(whom) == 0 {
		hop = exchange.Hop{Reason: exchange.Refused, Message: "no other target has what answers for it"}
	}
	if closed := s.Closed(target, k); len(closed) > 0 {
		if len(whom) == 0 {
			hop = exchange.Hop{Reason: exchange.Closed, Message: "no other target may be asked"}
		}
		hop.Message += "; spec.allow.services of SyncTarget " + strings.Join(closed, ", ") + " is false, which the " +
			"center's admin can change"
	}
	return hop
}
