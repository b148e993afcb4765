package services

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

// A Service may say that its callers come back to the Pod that has answered them (sessionAffinity: ClientIP). Here that
// is the target; the agent there keeps to the Pod. A caller of whom nothing is known comes back to nobody.

// session is a caller of a Service, by its address at a site.
type session struct {
	of           store.Key
	site, caller string
}

// keptTo is what has answered a session.
type keptTo struct {
	of     store.Key
	target string
}

// keeping is how a call chooses among places. Its time is 0 where it may choose anyhow.
type keeping struct {
	session
	time time.Duration
}

// keepingOf says how a call is to choose.
func (s *Services) keepingOf(k store.Key, site string, call upward.ServiceCall) (is keeping) {
	during := s.Affinity(k)
	if during == 0 || call.Caller == "" {
		return is
	}
	if c, err := exchange.ReadCaller(call.Caller); err == nil {
		is = keeping{session{k, site, c.Address.String()}, during}
	}
	return is
}

// pick chooses among places that are as near: the same one for the same session, so that one that is forgotten comes
// back, too, while nothing else has changed.
func (is keeping) pick(n int) int {
	if is.time == 0 {
		return rand.IntN(n)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(is.of.String() + " " + is.site + " " + is.caller)) // which takes everything
	return int(h.Sum64() % uint64(n))
}

// steady puts places in an order that says nothing.
func (is keeping) steady(places []place) {
	if is.time != 0 {
		slices.SortFunc(places, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.k.Space, b.k.Space), cmp.Compare(a.target, b.target))
		})
	}
}

// back puts the place that has answered the session before first.
func (s *Services) back(is keeping, places []place) {
	if is.time == 0 {
		return
	}
	was, known := s.kept.Of(is.session)
	i := slices.IndexFunc(places, func(p place) bool { return known && keptTo{p.k, p.target} == was })
	if i > 0 {
		first := places[i]
		copy(places[1:i+1], places[:i])
		places[0] = first
	}
}

// answered notes which place has answered a session.
func (s *Services) answered(is keeping, p place) {
	if is.time != 0 {
		s.kept.Keep(is.of.Space, is.session, keptTo{p.k, p.target}, is.time)
	}
}
