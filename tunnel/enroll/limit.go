package enroll

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"skerry.dev/skerry/tunnel"
)

// How often joins are looked at. What stands behind it reads the center's store and checks
// signatures, for whoever asks. One address cannot use up what all have, and all together cannot
// keep the center from its work. A site behind these limits waits and asks again.
const (
	rateOfAll      = 100 // a second
	burstOfAll     = 200
	rateOfOne      = 20
	burstOfOne     = 50
	maxAddresses   = 4096
	retryAfterBusy = 2 * time.Second
)

// limiter admits joins by where they come from.
type limiter struct {
	all *rate.Limiter

	mu  sync.Mutex
	one map[netip.Prefix]*rate.Limiter
}

func newLimiter() *limiter {
	return &limiter{all: rate.NewLimiter(rateOfAll, burstOfAll), one: map[netip.Prefix]*rate.Limiter{}}
}

func (l *limiter) admits(r *http.Request) bool {
	return l.from(r.RemoteAddr).Allow() && l.all.Allow()
}

// from is the limit of an address: of IPv6, of the network that one host has to itself.
func (l *limiter) from(remote string) *rate.Limiter {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	var network netip.Prefix // that of whatever is no address: one for all of them
	if a, err := netip.ParseAddr(host); err == nil {
		network = tunnel.Source(a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.one[network]
	if one == nil {
		if len(l.one) >= maxAddresses {
			clear(l.one) // who is forgotten has a full burst again, and the limit of all still holds
		}
		one = rate.NewLimiter(rateOfOne, burstOfOne)
		l.one[network] = one
	}
	return one
}

// busy asks a site to come back.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfterBusy.Seconds())))
	http.Error(
		w,
		`{"message":"too many sites are joining at this moment; the agent tries again by itself"}`,
		http.StatusTooManyRequests,
	)
}
