package webhook

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// patience is how long a target is waited for while something is left to do without it.
func (s *serviceCaller) patience(ctx context.Context, target string) time.Duration {
	rtt, _ := s.rtt(target)
	wait := patience
	if s.isApart(target) {
		wait = hurry
	}
	wait = max(wait, 6*rtt)
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2)
	}
	return wait
}

func (s *serviceCaller) rtt(target string) (time.Duration, bool) {
	if s.callers.cfg.RTT == nil {
		return 0, false
	}
	return s.callers.cfg.RTT(target)
}

// ordered returns Pods in the order in which they are to be tried: the nearest site first, and of
// its Pods the one with the fewest calls.
func (s *serviceCaller) ordered(all []Backend) []Backend {
	type rank struct {
		late, unknown int
		rtt           time.Duration
	}
	now, ranks := time.Now(), map[string]rank{}
	s.mu.Lock()
	for _, b := range all {
		t := b.Place.Target
		if _, done := ranks[t]; done {
			continue
		}
		r := rank{}
		if until, ok := s.apart[t]; ok && now.Before(until) {
			r.late = 1
		} else if ok {
			delete(s.apart, t)
		}
		rtt, connected := s.rtt(t)
		// Of sites that are equally near always the same one is taken: it has the connections.
		if r.rtt = rtt.Round(time.Millisecond); !connected {
			r.unknown = 1
		}
		ranks[t] = r
	}
	s.mu.Unlock()
	out := slices.Clone(all)
	calls := map[Backend]int64{}
	for _, b := range all {
		calls[b] = s.calls(b)
	}
	slices.SortFunc(out, func(a, b Backend) int {
		x, y := ranks[a.Place.Target], ranks[b.Place.Target]
		return cmp.Or(
			cmp.Compare(x.late, y.late), cmp.Compare(x.unknown, y.unknown), cmp.Compare(x.rtt, y.rtt),
			strings.Compare(a.Place.Target, b.Place.Target),
			cmp.Compare(calls[a], calls[b]), strings.Compare(a.Pod, b.Pod),
		)
	})
	return out
}

func (s *serviceCaller) calls(b Backend) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[b]; p != nil {
		return p.calls.Load()
	}
	return 0
}
