package uplink

import (
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

func TestPulse(t *testing.T) {
	type counts struct{ sent, received uint64 }
	never := time.Duration(-1)
	for name, c := range map[string]struct {
		quic   bool
		rtt    time.Duration
		at     func(d time.Duration) counts
		silent time.Duration // when it is noticed
	}{
		"an idle link with keep-alives": {true, 50 * time.Millisecond, func(d time.Duration) counts {
			n := uint64(d / tunnel.KeepAlive)
			return counts{n, n}
		}, never},
		"keep-alives that nobody answers": {false, 50 * time.Millisecond, func(d time.Duration) counts { return counts{uint64(d / tunnel.KeepAlive), 0} },
			tunnel.KeepAlive + shortPatience},
		"data that nobody acknowledges": {true, 50 * time.Millisecond, func(d time.Duration) counts { return counts{uint64(d / (300 * time.Millisecond)), 0} },
			shortPatience + 500*time.Millisecond},
		"the same over TCP says nothing": {false, 0, func(d time.Duration) counts { return counts{uint64(d / (300 * time.Millisecond)), 0} },
			tunnel.KeepAlive + shortPatience},
		"a last acknowledgement needs no answer": {true, 0, func(d time.Duration) counts { return counts{min(uint64(d/time.Second), 1), 0} }, tunnel.KeepAlive + shortPatience},
		"a slow path has time": {true, 2 * time.Second, func(d time.Duration) counts {
			return counts{uint64(d / (300 * time.Millisecond)), uint64(d / (5 * time.Second))}
		}, never},
	} {
		began := time.Now()
		p, noticed := newPulse(began, 0), never
		for d := time.Duration(0); d < time.Minute && noticed == never; d += lookEvery {
			n := c.at(d)
			if p.look(began.Add(d), tunnel.Stats{SentBytes: n.sent, ReceivedBytes: n.received, RTT: c.rtt}, c.quic) {
				noticed = d
			}
		}
		if noticed == never != (c.silent == never) || (noticed-c.silent).Abs() > 2*lookEvery {
			t.Errorf("%s: silent after %s, want %s", name, noticed, c.silent)
		}
	}
}

// A machine that was busy itself blames nobody.
func TestPulseOfABusyMachine(t *testing.T) {
	now := time.Now()
	p := newPulse(now, 0)
	for range 10 {
		now = now.Add(tunnel.KeepAlive)
		if p.look(now, tunnel.Stats{}, true) {
			t.Fatal("silent after looks that came late")
		}
	}
}
