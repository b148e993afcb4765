package services

import (
	"context"
	"net/http"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// A Service that serves an import has no Pods. What is asked of it is asked of the Services that spaces of its set
// export, wherever these are, also at the target that asks. To NetworkPolicies of another space the caller is an
// address.

// answering is a Service that may answer a call, and the targets where it is.
type answering struct {
	k       store.Key
	call    upward.ServiceCall
	targets []string
	foreign bool // another space's
}

// answersFor are the Services that may answer a call: the one of the key, which is at targets, or those that it leads
// to. Named is the call as people know it.
func (s *Services) answersFor(
	targets []string,
	k store.Key,
	call upward.ServiceCall,
) (named upward.ServiceCall, all []answering) {
	service, offers, is := s.Imports(k)
	if !is {
		return call, []answering{{k: k, call: call, targets: targets}}
	}
	named, call.Host = call, ""
	named.Service = service
	for _, o := range offers {
		at, _, there := s.Serving("", o.Key, o.UID)
		if !there {
			continue
		}
		is := answering{o.Key, call, at, o.Key.Space != k.Space}
		if is.call.Service, is.call.UID = o.Key.Name, o.UID; is.foreign {
			is.call.Caller = exchange.AddressOf(call.Caller)
		}
		all = append(all, is)
	}
	return named, all
}

// moving reports whether any of the Services that may answer is on its way to another target.
func (s *Services) moving(all []answering) bool {
	return slices.ContainsFunc(all, func(a answering) bool { return s.moves.is(a.k) })
}

// place is a target where a Service is that may answer.
type place struct {
	answering
	target string
}

// here are those that may answer at a target.
func here(target string, all []answering) (out []upward.Here) {
	for _, a := range all {
		if slices.Contains(a.targets, target) {
			out = append(out, upward.Here{Space: a.k.Space, Namespace: a.k.Namespace, Service: a.k.Name, UID: a.call.UID})
		}
	}
	return out
}

// places are the targets that may answer: the one that asks, if it is one of them, then the nearest ones (order). How
// far a target is may change meanwhile.
func (s *Services) places(asks string, all []answering, is keeping) []place {
	var places []place
	away := map[string]time.Duration{asks: 0}
	for _, a := range all {
		for _, target := range a.targets {
			places = append(places, place{a, target})
			if rtt, known := s.RTT(target); known && target != asks {
				away[target] = rtt
			}
		}
	}
	far := func(p place) (time.Duration, bool) { d, known := away[p.target]; return d, known }
	is.steady(places)
	order(places, far, func(p place) int { return s.ready.of(p.k, p.target) }, is.pick)
	s.ready.last(places)
	return places
}

// ways are those to places, for a site.
func (s *Services) ways(places []place, site string) (ways []way) {
	for _, p := range places {
		ways = append(ways, func(ctx context.Context) (*http.Response, error) {
			switch {
			case p.target == parent:
				return s.above(ctx, site, p.k.Space, p.call)
			case p.foreign:
				return s.abroad(ctx, p)
			}
			return s.at(ctx, p.target, p.k.Space, p.call)
		})
	}
	return ways
}

// abroad connects to a Service of another space. What that space keeps to itself is not told: where its Pods are, what
// they are called, and which of its policies keeps whom out.
func (s *Services) abroad(ctx context.Context, p place) (*http.Response, error) {
	began := time.Now()
	resp, err := s.at(exchange.Untraced(ctx), p.target, p.k.Space, p.call)
	hop := exchange.Hop{At: ".", Reason: exchange.Answered, Message: "space " + p.k.Space + " answers"}
	if err != nil {
		f := *exchange.FaultOf(err)
		switch f.Reason {
		case exchange.Denied:
			f.Message = "its NetworkPolicies let in no caller of this address: another space's is an address to them"
		case exchange.Moving:
			f.Message = "what answers is on its way to another site"
		default:
			f.Message = "no pod of it is ready, or its site does not answer"
		}
		f.Message = "space " + p.k.Space + ": " + f.Message
		hop, err = exchange.HopOf(".", &f, 0), &f
	}
	hop.Micros = time.Since(began).Microseconds()
	exchange.TraceOf(ctx).Add(hop)
	return resp, err
}
