package services

import (
	"cmp"
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
		return call, []answering{{k, call, targets}}
	}
	named, call.Host = call, ""
	named.Service = service
	for _, o := range offers {
		at, _, there := s.Serving("", o.Key, o.UID)
		if !there {
			continue
		}
		is := call
		if is.Service, is.UID = o.Key.Name, o.UID; o.Key.Space != k.Space {
			is.Caller = foreign(is.Caller)
		}
		all = append(all, answering{o.Key, is, at})
	}
	return named, all
}

// foreign is what another space is told of a caller: its address.
func foreign(text string) string {
	c, err := exchange.ReadCaller(text)
	if err != nil {
		return "" // nobody knows who calls
	}
	return exchange.Caller{Address: c.Address}.Encode()
}

// moving reports whether any of the Services that may answer is on its way to another target.
func (s *Services) moving(all []answering) bool {
	return slices.ContainsFunc(all, func(a answering) bool { return s.moves.is(a.k) })
}

// ways are those to the targets of all Services that may answer: to the one that asks, if it is among them, then the
// nearest ones, and last those of which nobody knows how far they are.
func (s *Services) ways(asks string, all []answering) []way {
	type place struct {
		answering
		target string
	}
	var places []place
	for _, a := range all {
		for _, target := range a.targets {
			places = append(places, place{a, target})
		}
	}
	far := func(p place) time.Duration {
		if p.target == asks {
			return 0
		}
		return s.far(p.target)
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(far(a), far(b)) })
	var ways []way
	for _, p := range places {
		ways = append(ways, func(ctx context.Context) (*http.Response, error) {
			return s.at(ctx, p.target, p.k.Space, p.call)
		})
	}
	return ways
}
