package quic

import (
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// quicIdle is QUIC's own idle timeout. It is a last resort, because QUIC does not see the
// heartbeats beside it; silence finds dead connections. An older peer has only a timeout of
// tunnel.Idle. The smaller of the two holds on both sides.
const quicIdle = 2 * time.Hour

// quicKeepAlive is how long QUIC may hear nothing until a child's QUIC asks by itself. With a
// parent that has tunnel.Idle it is half of that.
const quicKeepAlive = quicIdle / 4

// silence reports whether a connection is dead. It is if nothing has come for tunnel.Idle, by QUIC
// or beside it. It is also dead if QUIC has been asking for so long and has heard nothing, whatever
// came beside it.
type silence struct {
	received, sent uint64    // QUIC's packets at the last look
	heard          time.Time // when it was noticed that something had come
	asking         time.Time // since when QUIC sends and hears nothing; zero if it does not
	fresh          bool      // something had come at the last look, and may not have been acknowledged yet
}

// check checks QUIC's counts. Two calls are further apart than an acknowledgement takes.
func (s *silence) check(now time.Time, stats quicgo.ConnectionStats) (dead bool) {
	sent := stats.PacketsSent != s.sent
	if came := stats.PacketsReceived != s.received || s.heard.IsZero(); came {
		s.heard, s.asking, s.fresh = now, time.Time{}, true
	} else {
		if sent && !s.fresh && s.asking.IsZero() {
			s.asking = now
		}
		s.fresh = false
	}
	s.received, s.sent = stats.PacketsReceived, stats.PacketsSent
	return now.Sub(s.heard) >= tunnel.Idle || !s.asking.IsZero() && now.Sub(s.asking) >= tunnel.Idle
}
