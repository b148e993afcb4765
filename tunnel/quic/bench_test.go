package quic_test

import (
	"net"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/quic"
)

// BenchmarkSignOfLife tells what a heartbeat and its answer cost over loopback: the time of a core,
// on both sides together, and memory.
func BenchmarkSignOfLife(b *testing.B) {
	s := newSite(b)
	_, parent := s.pair(b)
	next := quic.Questions(parent)
	socket, err := net.DialUDP("udp", nil, s.packet.LocalAddr().(*net.UDPAddr))
	if err != nil {
		b.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, 100)
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		if _, err := socket.Write(next()); err != nil {
			b.Fatal(err)
		}
		if _, err := socket.Read(answer); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
}
