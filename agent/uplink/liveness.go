package uplink

import (
	"time"

	"skerry.dev/skerry/tunnel"
)

// Times of watching for life.
const (
	lookEvery     = 250 * time.Millisecond
	shortPatience = 1500 * time.Millisecond
	longPatience  = 10 * time.Second
	// longGap is the silence after which a connection is replaced though the peer is heard again.
	// What was on its way then is sent again as late after the outage as that was long.
	longGap        = 3 * time.Second
	repeatedSounds = 2
	// soonAsked is the silence after which a parent that has not let this side in yet is asked for
	// a heartbeat: its answer is due.
	soonAsked  = time.Second
	mostDoubts = 3
	// attention is how long after its last use a link has frequent heartbeats. Who has just changed
	// something waits for more.
	attention = 2 * time.Minute
)

// liveness finds out from a connection's counts whether the peer is silent although it should have
// answered, and when to ask it. An answer is due to the transport's keep-alive and to what this
// side asks. Over QUIC it is also due to packets that are sent again because nobody acknowledges
// them.
type liveness struct {
	patience time.Duration // grows when silence was a false alarm
	looked   time.Time
	last     tunnel.Stats
	used     time.Time     // when the link was in use the last time
	heard    time.Time     // when something came the last time
	gap      time.Duration // how long nothing had come before that
	probed   time.Time     // when this side asked the last time
	asked    time.Time     // when something was sent first since then
	sounds   int           // at how many looks something had been sent since then
}

func newLiveness(now time.Time, patience time.Duration) *liveness {
	return &liveness{patience: max(patience, shortPatience), looked: now, used: now, heard: now}
}

// check reports whether the peer is silent now, and whether to ask it. used is true if something
// was to cross since the last call.
func (p *liveness) check(now time.Time, s tunnel.Stats, quic, used bool) (silent, ask bool) {
	patience := p.count(now, s)
	if used {
		p.used = now
	}
	unanswered := p.probed.After(p.heard)
	if ask = !unanswered && now.Sub(p.used) < attention && now.Sub(p.heard) >= tunnel.KeepAlive; ask {
		p.probed = now
	}
	silent = unanswered && now.Sub(p.probed) > patience || now.Sub(p.heard) > tunnel.IdleKeepAlive+patience ||
		quic && p.repeats(now, patience)
	return silent, ask
}

// checkBeforeWelcome is check for a session that the parent has not let in yet. A parent that lets
// thousands in takes its time. So over QUIC only repeated packets count, which asks nothing of that
// parent. TCP does not tell what is acknowledged; an unanswered question has twice the time.
//
// doubts is how many sessions were given up since the parent has let one in. Each doubles the time,
// so that a parent that cannot keep up gets no more to do.
func (p *liveness) checkBeforeWelcome(now time.Time, s tunnel.Stats, quic bool, doubts int) (silent, ask bool) {
	patience := p.count(now, s) << min(doubts, mostDoubts)
	unanswered := p.probed.After(p.heard)
	if ask = !unanswered && now.Sub(p.heard) >= soonAsked; ask {
		p.probed = now
	}
	if quic {
		return p.repeats(now, patience), ask
	}
	return unanswered && now.Sub(p.probed) > 2*patience, ask
}

// count records what was sent and heard since the last look, and returns how long an answer may
// take.
func (p *liveness) count(now time.Time, s tunnel.Stats) (patience time.Duration) {
	// This machine was busy, or asleep. What came may not have been read yet.
	if late := now.Sub(p.looked) - lookEvery; late > lookEvery {
		p.heard, p.probed, p.asked = p.heard.Add(late), p.probed.Add(late), p.asked.Add(late)
	}
	p.looked = now
	patience = max(p.patience, 4*s.RTT)
	switch {
	case s.ReceivedBytes != p.last.ReceivedBytes:
		p.gap, p.heard, p.sounds = now.Sub(p.heard), now, 0
	case s.SentBytes != p.last.SentBytes:
		// What was sent before needed no answer. If it were lost, it would have been sent again sooner.
		if p.sounds == 1 && now.Sub(p.asked) > patience {
			p.sounds = 0
		}
		if p.sounds++; p.sounds == 1 {
			p.asked = now
		}
	}
	p.last = s
	return patience
}

// repeats reports that over QUIC something is sent again and again because nobody acknowledges it.
func (p *liveness) repeats(now time.Time, patience time.Duration) bool {
	return p.sounds >= repeatedSounds && now.Sub(p.asked) > patience
}

// stalled reports, of a peer that is heard again, whether the connection may still stand still for
// seconds.
func (p *liveness) stalled() bool { return p.gap > longGap }

// wrong is called when a silent peer was heard again.
func (p *liveness) wrong() { p.patience = min(2*p.patience, longPatience) }

// listener watches the liveness of a session.
type listener struct {
	*liveness
	s      *session
	used   func() bool
	doubts *int
}

func (u *uplink) listen(s *session) listener {
	return listener{newLiveness(time.Now(), u.patience), s, u.uses(), &u.doubts}
}

// silent reports whether the parent is silent, and asks it when it is time.
func (l listener) silent() bool {
	stats, quic := l.s.conn.Stats(), l.s.way.Transport == overQUIC
	var silent, ask bool
	if l.s.letIn() {
		*l.doubts = 0
		silent, ask = l.check(time.Now(), stats, quic, l.used())
	} else {
		silent, ask = l.checkBeforeWelcome(time.Now(), stats, quic, *l.doubts)
	}
	if ask {
		select {
		case l.s.probe <- struct{}{}:
		default: // it has not asked yet
		}
	}
	return silent
}
