package quic

import (
	"bytes"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

// batch is how many datagrams are read at a time.
const batch = 8

// echo answers what it is given with what it is given, but for its first byte.
func echo(datagram []byte, _ net.Addr) []byte {
	if len(datagram) == 0 {
		return nil
	}
	return append([]byte{1}, datagram[1:]...)
}

// center is a socket whose answers are echoes, and somebody who sends to it.
func center(t *testing.T, network, address string) (*socket, *net.UDPConn) {
	t.Helper()
	packet, err := net.ListenPacket(network, address)
	if err != nil {
		t.Skipf("%s is not there: %v", address, err)
	}
	t.Cleanup(func() { packet.Close() })
	s, ok := beside(packet, echo, nil).(*socket)
	if !ok {
		t.Fatal("a UDP socket is used as it is")
	}
	to := *packet.LocalAddr().(*net.UDPAddr)
	if to.IP.IsUnspecified() {
		to.IP = net.IPv4(127, 0, 0, 2) // not the one that the kernel would choose
		if err := s.packets.SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true); err != nil {
			t.Fatal(err)
		}
	}
	child, err := net.DialUDP("udp", nil, &to)
	if err != nil {
		t.Skipf("%s is not there: %v", to.IP, err)
	}
	t.Cleanup(func() { child.Close() })
	if err := child.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return s, child
}

func messages() []ipv4.Message {
	ms := make([]ipv4.Message, batch)
	for i := range ms {
		ms[i] = ipv4.Message{Buffers: [][]byte{make([]byte, 1500)}, OOB: make([]byte, 128)}
	}
	return ms
}

func send(t *testing.T, from *net.UDPConn, datagrams ...string) {
	t.Helper()
	for _, d := range datagrams {
		if _, err := from.Write([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
}

// got reads until so many datagrams have come to QUIC.
func got(t *testing.T, s *socket, n int) (all []string) {
	t.Helper()
	for ms := messages(); len(all) < n; {
		k, err := s.ReadBatch(ms, 0)
		if err != nil || k == 0 {
			t.Fatalf("%d were read, %v", k, err)
		}
		for _, m := range ms[:k] {
			all = append(all, string(m.Buffers[0][:m.N]))
		}
	}
	return all
}

func answered(t *testing.T, child *net.UDPConn) string {
	t.Helper()
	b := make([]byte, 100)
	n, err := child.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// QUIC gets its packets, whole and in their order, and the rest is answered, to whom it came from
// and from where that was sent to.
func TestDatagramsAreToldApart(t *testing.T) {
	for _, c := range []struct{ network, address string }{{"udp4", "127.0.0.1:0"}, {"udp6", "[::1]:0"},
		{"udp4", "0.0.0.0:0"}, {"udp", "[::]:0"}} {
		t.Run(c.network+c.address, func(t *testing.T) {
			s, child := center(t, c.network, c.address)
			send(t, child, "\x22one", "\x40A", "", "\x23two", "\xc0Bcd", "\x80C", "\x01three", "\x7fD")
			want := []string{"\x40A", "\xc0Bcd", "\x80C", "\x7fD"}
			for i, d := range got(t, s, len(want)) {
				if d != want[i] {
					t.Errorf("QUIC got %q, want %q", d, want[i])
				}
			}
			for _, want := range []string{"\x01one", "\x01two", "\x01three"} {
				if d := answered(t, child); d != want {
					t.Errorf("%q was answered, want %q", d, want)
				}
			}
			send(t, child, "\x22alone")
			send(t, child, "\x40last")
			if d := got(t, s, 1); d[0] != "\x40last" {
				t.Errorf("QUIC got %q", d)
			}
			ms := messages()
			send(t, child, "\x22x", "\x40who")
			n, err := s.ReadBatch(ms, 0)
			for err == nil && n == 0 {
				n, err = s.ReadBatch(ms, 0)
			}
			if err != nil || !sameAddress(ms[0].Addr, child.LocalAddr()) {
				t.Errorf("it came from %v, want %s; %v", ms[0].Addr, child.LocalAddr(), err)
			}
		})
	}
}

// A reader that has nothing but what is not for it ends when its user wants that, and when the
// socket is closed.
func TestReadingEnds(t *testing.T) {
	s, child := center(t, "udp4", "127.0.0.1:0")
	done := make(chan error)
	read := func() {
		_, err := s.ReadBatch(messages(), 0)
		done <- err
	}
	go read()
	send(t, child, "\x22x")
	if d := answered(t, child); d != "\x01x" {
		t.Errorf("answered with %q", d)
	}
	if err := s.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ended with %v", err)
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go read()
	s.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed socket reads %v", err)
	}
}

// Any other socket does the same, one datagram at a time.
func TestOtherSockets(t *testing.T) {
	udp, child := center(t, "udp4", "127.0.0.1:0")
	s := beside(struct{ net.PacketConn }{udp.UDPConn}, echo, nil)
	send(t, child, "\x22one", "\x40A")
	b := make([]byte, 100)
	n, from, err := s.ReadFrom(b)
	if err != nil || !bytes.Equal(b[:n], []byte("\x40A")) || !sameAddress(from, child.LocalAddr()) {
		t.Errorf("QUIC got %q from %v, %v", b[:n], from, err)
	}
	if d := answered(t, child); d != "\x01one" {
		t.Errorf("answered with %q", d)
	}
}
