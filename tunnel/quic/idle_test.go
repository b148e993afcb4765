package quic_test

import (
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/quic"
)

// TestIdleSessionsAreQuiet holds what a session costs the network and its center when nothing
// happens, in an hour and a half of simulated time: a heartbeat each 25 s over a metered link, each
// 6 s over others, and its answer beside QUIC, and nothing else from any part of either side but
// QUIC's own keep-alive every half hour.
func TestIdleSessionsAreQuiet(t *testing.T) {
	for class, most := range map[delta.Class]struct {
		datagrams float64 // each way in a minute
		bytes     float64 // both ways
	}{delta.Metered: {2.7, 135}, delta.LAN: {10.5, 540}} {
		t.Run(string(class), func(t *testing.T) { idleSessionsAreQuiet(t, class, most.datagrams, most.bytes) })
	}
}

func idleSessionsAreQuiet(t *testing.T, class delta.Class, most, bytes float64) {
	const (
		sessions, minutes = 10, 90
		ofQUIC            = 2 * (minutes/30 + 1)
	)
	inWorld(t, sessions, func(t *testing.T, w *world) {
		w.class = class
		var links []*link
		for i := range sessions {
			links = append(links, w.connect(i))
		}
		time.Sleep(10 * time.Minute)
		before := w.packet.Stats()
		var packets []uint64
		for _, l := range links {
			sent, received := quic.Packets(l.parent)
			packets = append(packets, sent+received)
		}
		time.Sleep(minutes * time.Minute)
		after := w.packet.Stats()
		each := func(n int) float64 { return float64(n) / sessions / minutes }
		in, out := each(after.PacketsRcvd-before.PacketsRcvd), each(after.PacketsSent-before.PacketsSent)
		crossed := each(after.BytesRcvd + after.BytesSent - before.BytesRcvd - before.BytesSent)
		t.Logf("a session and minute: %.2f datagrams up, %.2f down, %.0f bytes", in, out, crossed)
		if in > most || out > most || crossed > bytes {
			t.Errorf(
				"an idle session costs %.2f datagrams up and %.2f down a minute, at most %.2f each; %.0f bytes, at most %.0f",
				in,
				out,
				most,
				crossed,
				bytes,
			)
		}
		if in < 2 || out < 2 {
			t.Error("there are no signs of life")
		}
		for i, l := range links {
			if sent, received := quic.Packets(l.parent); sent+received-packets[i] > ofQUIC {
				t.Errorf("QUIC was woken for %d packets of session %d, at most %d", sent+received-packets[i], i, ofQUIC)
			}
			w.lasts(l, 0)
			if s := l.parent.Stats(); s.SentBytes < minutes*2*quic.AnswerBytes ||
				s.ReceivedBytes < minutes*2*quic.QuestionBytes {
				t.Errorf("signs of life are not counted: %+v", s)
			}
		}
	})
}
