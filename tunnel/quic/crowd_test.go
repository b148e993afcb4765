package quic_test

import (
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// A parent that has no room says so, and is heard; one that is not there is not.
func TestCrowdedParentIsHeard(t *testing.T) {
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packet.Close()
	center, log := tunneltest.NewCenter(t), slog.New(slog.DiscardHandler)
	full, err := quic.Listen(
		quic.ListenConfig{Packet: packet, TLS: center.TLS(t), Limits: quic.Limits{Verify: 1}, Log: log},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		to      net.PacketConn
		crowded bool
	}{{packet, true}, {silent, false}} {
		var heard atomic.Int32
		_, err := quic.Dial(
			t.Context(),
			c.to.LocalAddr().String(),
			quic.DialConfig{TLS: center.Site(t), Patience: 500 * time.Millisecond,
				OnAnswer: func() { heard.Add(1) }, Log: log},
		)
		if quic.Crowded(err) != c.crowded || quic.Answered(err) || (heard.Load() > 0) != c.crowded {
			t.Errorf("crowded %v: heard %d times; answered %v; %v", c.crowded, heard.Load(), quic.Answered(err), err)
		}
	}
}
