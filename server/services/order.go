package services

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// nearness is by how much a target may be farther away than the nearest one and count as near as that: so much, or
// a fifth of the way. The round-trip time of a session is an average that moves by as much.
const nearness = 500 * time.Microsecond

// order puts the nearest first, and last those of which nobody knows how far they are. Of those that are as near as the
// nearest, one that pick chooses comes first: each has as many chances as it has ready Pods, and one of which nobody
// knows that as many as the others have on average. pick returns a number below n.
func order[T any](all []T, rtt func(T) (time.Duration, bool), ready func(T) int, pick func(n int) int) {
	const unknown = time.Hour
	far := func(of T) time.Duration {
		if d, known := rtt(of); known {
			return d
		}
		return unknown
	}
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(far(a), far(b)) })
	if len(all) == 0 || far(all[0]) == unknown {
		return
	}
	limit := far(all[0]) + max(nearness, far(all[0])/5)
	near := all
	if i := slices.IndexFunc(all, func(of T) bool { return far(of) > limit }); i >= 0 {
		near = all[:i]
	}
	if len(near) > 1 {
		i := choose(chances(near, ready), pick)
		chosen := near[i]
		copy(near[1:i+1], near[:i])
		near[0] = chosen
	}
}

// chances are the ready Pods of each, and the average where nobody knows, 1 at least.
func chances[T any](all []T, ready func(T) int) (out []int) {
	sum, known := 0, 0
	for _, of := range all {
		n := ready(of)
		out = append(out, n)
		if n > 0 {
			sum, known = sum+n, known+1
		}
	}
	for i := range out {
		if out[i] == 0 {
			out[i] = max(1, sum/max(1, known))
		}
	}
	return out
}

// choose returns the index of one of some chances.
func choose(of []int, pick func(n int) int) int {
	sum := 0
	for _, n := range of {
		sum += n
	}
	at := pick(sum)
	for i, n := range of {
		if at -= n; at < 0 {
			return i
		}
	}
	return 0
}

// ready remembers how many Pods of Services were ready at targets, as these said when they last answered. The zero
// value knows nothing.
type ready struct {
	mu  sync.Mutex
	all map[readyAt]int
	// asked is when a target was asked first of all that has not answered since.
	asked map[readyAt]time.Time
}

// doubtTime is for how long a target that has not answered is asked after the others, while one of these has
// ready Pods: one call in that time finds out. An application that comes to a target has none there for a while.
const doubtTime = time.Second

// last puts those that have not answered last, and notes which one is asked first.
func (r *ready) last(all []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := func(p place) readyAt { return readyAt{p.k, p.target} }
	if !slices.ContainsFunc(all, func(p place) bool { return r.all[at(p)] > 0 }) {
		return
	}
	doubt := func(p place) int {
		if since, asked := r.asked[at(p)]; asked && time.Since(since) < doubtTime && r.all[at(p)] == 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(p, q place) int { return cmp.Compare(doubt(p), doubt(q)) })
	if first := at(all[0]); r.all[first] == 0 {
		if r.asked == nil || len(r.asked) >= mostSeen {
			r.asked = map[readyAt]time.Time{}
		}
		r.asked[first] = time.Now()
	}
}

// readyAt is a Service at a target.
type readyAt struct {
	of store.Key
	at string
}

// answered takes over what a target has answered; resp is nil where it did not.
func (r *ready) answered(k store.Key, target string, resp *http.Response) {
	n := 0
	if resp != nil {
		n = exchange.ReadyIn(resp.Header)
	}
	of := readyAt{k, target}
	r.mu.Lock()
	defer r.mu.Unlock()
	if resp != nil {
		delete(r.asked, of)
	}
	if r.all[of] == n {
		return
	}
	if r.all == nil || len(r.all) >= mostSeen {
		r.all = map[readyAt]int{}
	}
	if r.all[of] = n; n == 0 {
		delete(r.all, of)
	}
}

// of is how many there were, 0 where nobody knows.
func (r *ready) of(k store.Key, target string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[readyAt{k, target}]
}
