package services

import (
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

// order puts the nearest targets first, and last those of which nobody knows how far they are. Of those that are
// as near as the nearest, one that pick chooses comes first: each has as many chances as it has ready Pods, and
// one of which nobody knows that as many as the others have on average. pick returns a number below n.
func order(targets []string, rtt func(string) (time.Duration, bool), ready func(string) int, pick func(n int) int) {
	far := func(at string) time.Duration {
		if d, known := rtt(at); known {
			return d
		}
		return time.Hour
	}
	away := map[string]time.Duration{}
	for _, at := range targets {
		away[at] = far(at)
	}
	slices.SortStableFunc(targets, func(a, b string) int { return int(away[a] - away[b]) })
	if len(targets) == 0 || away[targets[0]] == time.Hour {
		return
	}
	limit := away[targets[0]] + max(nearness, away[targets[0]]/5)
	near := targets
	if i := slices.IndexFunc(targets, func(at string) bool { return away[at] > limit }); i >= 0 {
		near = targets[:i]
	}
	if len(near) > 1 {
		i := choose(chances(near, ready), pick)
		chosen := near[i]
		copy(near[1:i+1], near[:i])
		near[0] = chosen
	}
}

// chances are the ready Pods of targets, and the average where nobody knows, 1 at least.
func chances(targets []string, ready func(string) int) (out []int) {
	sum, known := 0, 0
	for _, at := range targets {
		n := ready(at)
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
