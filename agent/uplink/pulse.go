package uplink

import (
	"time"

	"skerry.dev/skerry/tunnel"
)

// Times of listening for a pulse.
const (
	lookEvery      = 250 * time.Millisecond
	shortPatience  = 1500 * time.Millisecond
	longPatience   = 10 * time.Second
	repeatedSounds = 2
)

// pulse tells from a connection's counts whether the other side has fallen silent although it should have answered. An answer is due to the
// transport's keep-alive, and over QUIC to what is sent again because nobody acknowledges it.
type pulse struct {
	patience time.Duration // grows when silence was a false alarm
	looked   time.Time
	last     tunnel.Stats
	heard    time.Time // when something came the last time
	asked    time.Time // when something was sent first since then
	sounds   int       // at how many looks something had been sent since then
}

func newPulse(now time.Time, patience time.Duration) *pulse {
	return &pulse{patience: max(patience, shortPatience), looked: now, heard: now}
}

// look tells whether the other side is silent now.
func (p *pulse) look(now time.Time, s tunnel.Stats, quic bool) bool {
	if late := now.Sub(p.looked) - lookEvery; late > lookEvery { // this machine was busy, or asleep: what came may not have been read yet
		p.heard, p.asked = p.heard.Add(late), p.asked.Add(late)
	}
	p.looked = now
	switch {
	case s.ReceivedBytes != p.last.ReceivedBytes:
		p.heard, p.sounds = now, 0
	case s.SentBytes != p.last.SentBytes:
		if p.sounds++; p.sounds == 1 {
			p.asked = now
		}
	}
	p.last = s
	patience := max(p.patience, 4*s.RTT)
	if now.Sub(p.heard) > tunnel.KeepAlive+patience {
		return true
	}
	return quic && p.sounds >= repeatedSounds && now.Sub(p.asked) > patience
}

// wrong is called when a silent side was heard again.
func (p *pulse) wrong() { p.patience = min(2*p.patience, longPatience) }
