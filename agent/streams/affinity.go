package streams

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// The callers of a Service with session affinity come back to the Pod that has answered them, while that is ready.

// session is a caller of a Service, by its address at its own site.
type session struct{ uid, caller string }

// usualAffinity is for how long callers come back where a Service does not say it, as kube-proxy has it.
const usualAffinity = 3 * time.Hour

// affinity is for how long after a call the callers of a Service come back to a Pod, 0 where they need not.
func (s *serviceSpec) affinity() time.Duration {
	if s.SessionAffinity != "ClientIP" {
		return 0
	}
	seconds := s.SessionAffinityConfig.ClientIP.TimeoutSeconds
	return cmp.Or(time.Duration(max(seconds, 0))*time.Second, usualAffinity)
}

// back puts the Pod first that has answered whoever asks before, else one that is the same for each caller while no
// other one is ready. It returns what notes which Pod has answered now.
func (s *Site) back(r *exchange.Request, during time.Duration, backends []backend) (answered func(backend)) {
	caller, err := exchange.ReadCaller(r.Caller)
	if during == 0 || err != nil {
		return func(backend) {}
	}
	is := session{r.UID, caller.Address.String()}
	was, known := s.kept.Of(is)
	rank := func(b backend) uint64 {
		if known && b.uid == was {
			return 0
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(is.caller + " " + b.uid)) // which takes everything
		return max(h.Sum64(), 1)
	}
	slices.SortFunc(backends, func(a, b backend) int { return cmp.Compare(rank(a), rank(b)) })
	return func(b backend) { s.kept.Keep(r.Space, is, b.uid, during) }
}
