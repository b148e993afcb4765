package services

import (
	"context"
	"maps"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
)

// When what answers for a Service here is to be deleted, and another site answers for it or is about to (hold.go), its
// callers are led there first. A kubelet ends a Pod while kube-proxy still sends connections to it. Here the way to the
// other site is opened, then the Pods are taken off the Service, and they end when nobody is sent to them any more.

// leadTimes are how long leading may take.
type leadTimes struct {
	// proxy is how long kube-proxy may take to follow a slice: it writes its rules once a second.
	proxy time.Duration
	// step bounds the wait for the cluster in each step.
	step time.Duration
	// leave is how long Pods that were deleted may be ready for, after which the Service selects as before.
	leave time.Duration
}

var usualTimes = leadTimes{proxy: 1500 * time.Millisecond, step: 3 * time.Second, leave: 5 * time.Second}

// askAgain is when who deletes asks again.
const askAgain = 250 * time.Millisecond

// lead is one Service's callers being led to another site.
type lead struct {
	of     store.Key
	active bool // the way there is open, also beside Pods that are ready here
	away   bool // the Service has no Pods of this site
	done   bool // what answers here may go
	// led is closed when the slice leads there, alone when no Pod is ready here.
	led, alone signal
}

// signal is closed once.
type signal struct {
	once sync.Once
	c    chan struct{}
}

func newSignal() signal { return signal{c: make(chan struct{})} }

func (s *signal) give() { s.once.Do(func() { close(s.c) }) }

// wait reports whether it was given in time.
func (s *signal) wait(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-s.c:
		return true
	case <-ctx.Done():
		return false
	}
}

// see takes over how the slice of the Service is. The lead may be nil.
func (l *lead) see(active, ready bool) {
	if l == nil || !active {
		return
	}
	if l.led.give(); !ready {
		l.alone.give()
	}
}

// Leaving is told, again and again, that Pods with these labels are about to be deleted in a namespace of the target.
// It returns after how long to ask again, 0 when they may go: there is no such Service, no other site answers, or
// nobody is sent to them any more. It does not block.
func (s *Services) Leaving(namespace string, pods map[string]string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Duration(0)
	for n, e := range s.entries {
		if n.namespace != namespace || !s.selectsLocked(n, pods) {
			continue
		}
		l := s.leads[n]
		if l == nil && s.readyLocked(n) {
			l = &lead{of: e.of.key, led: newSignal(), alone: newSignal()}
			s.leads[n] = l
			s.leading.Go(func() { s.lead(e, n, l) })
		}
		if l != nil && !l.done {
			wait = askAgain
		}
	}
	return wait
}

// selectsLocked reports whether a Service with an address selects Pods with these labels. The name of a headless one
// leads to its Pods: they keep their names while they end, and whoever asks later is told others. s.mu must be held.
func (s *Services) selectsLocked(n name, pods map[string]string) bool {
	is, err := specOf(s.known[n])
	return err == nil && is.ClusterIP != headless && is.selects(pods)
}

// selects reports whether a Service selects Pods with these labels, whether or not its callers are led away.
func (is *spec) selects(pods map[string]string) bool {
	of := maps.Clone(is.Selector)
	delete(of, target.LabelLedAway)
	for key, value := range of {
		if has, labelled := pods[key]; !labelled || has != value {
			return false
		}
	}
	return len(of) > 0
}

// readyLocked reports whether a Pod of a Service is ready here. s.mu must be held.
func (s *Services) readyLocked(n name) bool {
	for _, ready := range s.slices[n] {
		if ready {
			return true
		}
	}
	return false
}

// Idle reports whether a Service of the target is known to have no Pod that is ready here. It asks nobody.
func (s *Services) Idle(namespace, service string) bool {
	n := name{namespace, service}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[n] != nil && !s.readyLocked(n)
}

// lead leads the callers of a Service to another site, if one answers. It ends when the Service selects as before.
func (s *Services) lead(e *entry, n name, l *lead) {
	away := s.answersElsewhere(e, n) && s.takeOff(e, n, l)
	s.mu.Lock()
	l.done = true
	s.mu.Unlock()
	ondemand.Pause(e.ctx, s.times.leave)
	if away {
		s.away(e, l, false)
	}
	s.mu.Lock()
	delete(s.leads, n)
	s.touchLocked(n)
	s.mu.Unlock()
}

// answersElsewhere reports whether another site answers for a Service, at any of its ports, or will: it moves. The
// agent asks for no Pod, so NetworkPolicies there may keep it out of one that is ready.
func (s *Services) answersElsewhere(e *entry, n name) bool {
	s.mu.Lock()
	is, err := specOf(s.known[n])
	s.mu.Unlock()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(e.ctx, callTime)
	defer cancel()
	for port := range is.tcp() {
		conn, _, err := s.call(ctx, e.of, doorKey{"", port}, "")
		if err == nil {
			conn.Close()
		}
		if answers(err) || exchange.IsMoving(err) {
			return true
		}
	}
	return false
}

// takeOff opens the way to the other site, and takes the Pods of this one off the Service. It reports whether it has
// begun that.
func (s *Services) takeOff(e *entry, n name, l *lead) bool {
	s.mu.Lock()
	l.active = true
	s.touchLocked(n)
	s.mu.Unlock()
	if !l.led.wait(e.ctx, s.times.step) || !ondemand.Pause(e.ctx, s.times.proxy) {
		return false
	}
	s.away(e, l, true)
	if l.alone.wait(e.ctx, s.times.step) {
		ondemand.Pause(e.ctx, s.times.proxy)
	}
	return true
}

// away has the Pods of this site taken off a Service, or given back.
func (s *Services) away(e *entry, l *lead, is bool) {
	s.mu.Lock()
	l.away = is
	s.mu.Unlock()
	s.Again(e.of.key)
}

// LedAway reports whether the Pods of this site are to be taken off a Service of a space.
func (s *Services) LedAway(k store.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leads {
		if l.of == k && l.away {
			return true
		}
	}
	return false
}
