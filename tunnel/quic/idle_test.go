package quic_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// counting counts the signs of life that come.
type counting struct {
	*simnet.SimConn
	signs atomic.Int64
}

func (c *counting) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.SimConn.ReadFrom(b)
	if n == quic.SignBytes {
		c.signs.Add(1)
	}
	return n, from, err
}

// TestIdleSessionsAreQuiet holds what a session costs the network and its center when nothing happens, in an hour and a half of simulated time: a sign of life each 25 s
// and its acknowledgement, and nothing else from any part of either side.
func TestIdleSessionsAreQuiet(t *testing.T) {
	const (
		sessions, minutes = 10, 90
		most              = 2.7 // datagrams each way in a minute
		bytes             = 150 // both ways
	)
	compress.Default() // outside of the bubble
	compress.Thorough().Encode(nil, []byte("{}"))
	now := time.Now().Round(0)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) // quic-go knows no time before its process began
		network, link := &simnet.Simnet{Router: &simnet.PerfectRouter{}}, simnet.NodeBiDiLinkSettings{Latency: time.Millisecond}
		address := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
		packet := &counting{SimConn: network.NewEndpoint(address, link)}
		var sockets []net.PacketConn
		for i := range sessions {
			sockets = append(sockets, network.NewEndpoint(&net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2 + i}, link))
		}
		if err := network.Start(); err != nil {
			t.Fatal(err)
		}
		center := tunneltest.NewCenter(t)
		listener, err := quic.Listen(quic.ListenConfig{Packet: packet, ResetKey: &resetKey, Log: slog.New(slog.DiscardHandler), TLS: center.TLS(t)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var served sync.WaitGroup
		for _, socket := range sockets {
			child, err := quic.DialOver(ctx, socket, address, center.Site(t))
			if err != nil {
				t.Fatal(err)
			}
			parent, err := listener.Accept(ctx)
			if err != nil {
				t.Fatal(err)
			}
			desired, reported := newObjects(false), newObjects(true)
			desired.set(deployment(1))
			reported.set(podKey(1), podReport(1, 2))
			served.Go(func() {
				err := tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: reported.Feed})
				if ctx.Err() == nil {
					t.Errorf("a session ended: %v", err)
				}
			})
			served.Go(func() {
				_ = tunnel.ServeParent(ctx, parent, tunnel.ParentConfig{Admit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
					return tunnel.Admission{Feed: desired.Feed, Inbox: storetest.NewMemory()}, nil
				}})
			})
		}
		time.Sleep(10 * time.Minute)
		before, signs := packet.Stats(), packet.signs.Load()
		time.Sleep(minutes * time.Minute)
		after := packet.Stats()
		each := func(n int) float64 { return float64(n) / sessions / minutes }
		in, out := each(after.PacketsRcvd-before.PacketsRcvd), each(after.PacketsSent-before.PacketsSent)
		crossed := each(after.BytesRcvd + after.BytesSent - before.BytesRcvd - before.BytesSent)
		if n := packet.signs.Load() - signs; n < int64(after.PacketsRcvd-before.PacketsRcvd)*9/10 {
			t.Errorf("of %d datagrams that came %d have the %d bytes of a sign of life: QUIC's packets are others than the center's socket takes together", after.PacketsRcvd-before.PacketsRcvd, n, quic.SignBytes)
		}
		t.Logf("a session and minute: %.2f datagrams up, %.2f down, %.0f bytes", in, out, crossed)
		if in > most || out > most || crossed > bytes {
			t.Errorf("an idle session costs %.2f datagrams up and %.2f down a minute, at most %.2f each; %.0f bytes, at most %d", in, out, most, crossed, bytes)
		}
		if in < 2 || out < 2 {
			t.Error("there are no signs of life")
		}
		cancel()
		served.Wait()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		packet.Close()
		network.Close()
	})
}
