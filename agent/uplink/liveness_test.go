package uplink

import (
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

// A simulated link: its transport asks for itself when it has heard nothing for
// tunnel.IdleKeepAlive, and over QUIC sends again what nobody acknowledges. From cut on nothing
// comes any more.
type simulated struct {
	quic bool
	rtt  time.Duration
	cut  time.Duration
	used func(d time.Duration) bool // nil: at the beginning only
	data func(d time.Duration) bool // this side sends something; nil: never
	// what is sent is not answered, though the link is alive: data over TCP, acknowledgements over QUIC
	mute bool
}

// run returns when the silence is noticed, -1 for never, and how often the other side was asked, by
// the transport or the liveness.
func (l simulated) run(length time.Duration) (noticed time.Duration, asked int) {
	began := time.Now()
	p := newLiveness(began, 0)
	var stats tunnel.Stats
	stats.RTT = l.rtt
	var heard, transport time.Duration
	answers := map[time.Duration]bool{} // when something comes
	again := false                      // something is sent again and again
	ask := func(d time.Duration) {
		stats.SentBytes++
		asked++
		if d < l.cut {
			answers[max(d+lookEvery, d+l.rtt)/lookEvery] = true
		} else {
			again = l.quic
		}
	}
	for d := time.Duration(0); d < length; d += lookEvery {
		if answers[d/lookEvery] {
			stats.ReceivedBytes++
			heard = d
		}
		if d-max(heard, transport) >= tunnel.IdleKeepAlive {
			transport = d
			ask(d)
		}
		if l.data != nil && l.data(d) {
			stats.SentBytes++
			again = again || l.quic && !l.mute && d >= l.cut
		}
		if again {
			stats.SentBytes++
		}
		silent, now := p.check(began.Add(d), stats, l.quic, l.used != nil && l.used(d))
		if silent {
			return d, asked
		}
		if now {
			ask(d)
		}
	}
	return -1, asked
}

func TestLiveness(t *testing.T) {
	never := time.Hour
	always := func(time.Duration) bool { return true }
	at := func(when time.Duration) func(time.Duration) bool {
		return func(d time.Duration) bool { return d == when }
	}
	for name, c := range map[string]struct {
		simulated
		within time.Duration // of the cut; 0 is never
	}{
		"an idle link":          {simulated{quic: true, rtt: 50 * time.Millisecond, cut: never}, 0},
		"an idle link over TCP": {simulated{rtt: 50 * time.Millisecond, cut: never}, 0},
		"a link in use": {
			simulated{quic: true, rtt: 50 * time.Millisecond, cut: never, used: always}, 0},
		"a link that was used lately":       {simulated{quic: true, cut: time.Minute}, 9 * time.Second},
		"over TCP":                          {simulated{cut: time.Minute}, 9 * time.Second},
		"a link that was not used for long": {simulated{quic: true, cut: 10 * time.Minute}, 28 * time.Second},
		"the same over TCP":                 {simulated{cut: 10 * time.Minute}, 28 * time.Second},
		"and is used now": {
			simulated{quic: true, cut: 10 * time.Minute, used: at(10*time.Minute + time.Second),
				data: at(10*time.Minute + time.Second)}, 4 * time.Second},
		"and is used now, over TCP": {
			simulated{cut: 10 * time.Minute, used: at(10*time.Minute + time.Second),
				data: at(10*time.Minute + time.Second)}, 9 * time.Second},
		"use after a long silence is no alarm": {simulated{cut: never, used: at(10*time.Minute + 20*time.Second)}, 0},
		"an acknowledgement needs no answer": {
			simulated{quic: true, cut: never, mute: true, data: at(10*time.Minute + time.Second)}, 0},
		"data over TCP says nothing of its fate": {simulated{cut: never, mute: true, data: always}, 0},
		"a slow path has time":                   {simulated{quic: true, rtt: 2 * time.Second, cut: never, used: always}, 0},
	} {
		noticed, _ := c.run(15 * time.Minute)
		switch {
		case c.within == 0 && noticed >= 0:
			t.Errorf("%s: silent after %s", name, noticed)
		case c.within != 0 && (noticed < c.cut || noticed > c.cut+c.within):
			t.Errorf("%s: silence from %s on was noticed at %s, want within %s", name, c.cut, noticed, c.within)
		}
	}
}

// What an idle site costs its parent: a question in 25 s, after it was asked more often for two
// minutes.
func TestLivenessOfAnIdleLink(t *testing.T) {
	_, asked := simulated{quic: true, cut: time.Hour}.run(30 * time.Minute)
	if least := int(28 * time.Minute / tunnel.IdleKeepAlive); asked < least-2 || asked > least+18 {
		t.Errorf("asked %d times in half an hour", asked)
	}
}

// A machine that was busy itself blames nobody.
func TestLivenessOfABusyMachine(t *testing.T) {
	now := time.Now()
	p := newLiveness(now, 0)
	for range 10 {
		now = now.Add(tunnel.KeepAlive)
		if silent, _ := p.check(now, tunnel.Stats{}, true, true); silent {
			t.Fatal("silent after looks that came late")
		}
	}
}

// A connection that was silent for long and is heard again may stand still for as long again; one
// that was silent for a moment does not.
func TestStalled(t *testing.T) {
	for silent, want := range map[time.Duration]bool{2 * time.Second: false, longGap: false,
		longGap + lookEvery: true, time.Minute: true} {
		now := time.Now()
		p, stats := newLiveness(now, 0), tunnel.Stats{}
		for end := now.Add(silent); now.Before(end); {
			now = now.Add(lookEvery)
			stats.SentBytes++
			if now.Equal(end) {
				stats.ReceivedBytes++
			}
			p.check(now, stats, true, true)
		}
		if p.stalled() != want {
			t.Errorf("after %s of silence: stalled is %t", silent, p.stalled())
		}
		stats.ReceivedBytes++
		if p.check(now.Add(lookEvery), stats, true, true); p.stalled() {
			t.Errorf("stalled although it is heard all the time")
		}
	}
}

// Before the welcome a parent that acknowledges nothing is silent after the patience; each session
// that was given up doubles that, and none asks more.
func TestLivenessBeforeTheWelcome(t *testing.T) {
	for _, quic := range []bool{true, false} {
		for doubts, factor := range map[int]time.Duration{0: 1, 1: 2, 2: 4, 3: 8, 50: 8} {
			now := time.Now()
			p, stats, asked := newLiveness(now, 0), tunnel.Stats{}, 0
			limit := factor * shortPatience
			if !quic {
				limit = soonAsked + 2*limit
			}
			for d := time.Duration(0); ; d += lookEvery {
				stats.SentBytes++ // again and again
				silent, ask := p.checkBeforeWelcome(now.Add(d), stats, quic, doubts)
				if ask {
					asked++
				}
				if silent {
					if d <= limit || d > limit+3*lookEvery {
						t.Errorf(
							"QUIC %t, %d doubts: silent after %s, want a little more than %s",
							quic,
							doubts,
							d,
							limit,
						)
					}
					break
				}
				if d > time.Minute {
					t.Fatalf("QUIC %t, %d doubts: never silent", quic, doubts)
				}
			}
			if asked != 1 {
				t.Errorf("QUIC %t, %d doubts: asked %d times", quic, doubts, asked)
			}
			stats.ReceivedBytes++
			if silent, _ := p.checkBeforeWelcome(now.Add(time.Hour), stats, quic, doubts); silent {
				t.Errorf("QUIC %t: silent although it is heard", quic)
			}
		}
	}
}
