package quic

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

// batch is how many datagrams are read at a time.
const batch = 8

// center is a socket that holds signs of life for an hour, and somebody who sends to it.
func center(t *testing.T, network, address string) (*socket, *net.UDPConn) {
	t.Helper()
	packet, err := net.ListenPacket(network, address)
	if err != nil {
		t.Skipf("%s is not there: %v", address, err)
	}
	t.Cleanup(func() { packet.Close() })
	s, ok := gathering(packet).(*socket)
	if !ok {
		t.Fatal("a UDP socket is used as it is")
	}
	s.together = time.Hour
	child, err := net.DialUDP(network, nil, packet.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Close() })
	return s, child
}

func send(t *testing.T, from *net.UDPConn, sizes ...int) {
	t.Helper()
	for _, n := range sizes {
		if _, err := from.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func messages() []ipv4.Message {
	ms := make([]ipv4.Message, batch)
	for i := range ms {
		ms[i] = ipv4.Message{Buffers: [][]byte{make([]byte, 1500)}, OOB: make([]byte, 128)}
	}
	return ms
}

// got reads until so many datagrams have come, and tells how many came at each reading.
func got(t *testing.T, s *socket, n int) (times []int) {
	t.Helper()
	for n > 0 {
		k, err := s.ReadBatch(messages(), 0)
		if err != nil {
			t.Fatal(err)
		}
		times, n = append(times, k), n-k
	}
	return times
}

// Signs of life that come after others are handed over together, when there are many or anything else comes.
func TestSignsOfLifeComeTogether(t *testing.T) {
	s, child := center(t, "udp4", "127.0.0.1:0")
	send(t, child, signBytes)
	if times := got(t, s, 1); len(times) != 1 {
		t.Errorf("the first came as %d", times)
	}
	send(t, child, signBytes, signBytes, signBytes, signBytes+1)
	if times := got(t, s, 4); len(times) != 1 {
		t.Errorf("three and a packet of data came as %d, want at once", times)
	}
	for range batch {
		send(t, child, signBytes)
	}
	if times := got(t, s, batch); len(times) != 1 {
		t.Errorf("%d came as %d, want at once", batch, times)
	}
	send(t, child, signBytes+1)
	if times := got(t, s, 1); len(times) != 1 {
		t.Errorf("data alone came as %d", times)
	}
}

// What is held is handed over in time, and when the user wants to read no more.
func TestSignsOfLifeAreNotHeldForLong(t *testing.T) {
	s, child := center(t, "udp4", "127.0.0.1:0")
	s.together = 20 * time.Millisecond
	for range 3 {
		send(t, child, signBytes)
		got(t, s, 1)
	}
	s.together = time.Hour
	send(t, child, signBytes)
	done := make(chan error)
	go func() {
		n, err := s.ReadBatch(messages(), 0)
		if n != 1 || err != nil {
			t.Errorf("%d were read, %v", n, err)
		}
		_, err = s.ReadBatch(messages(), 0)
		done <- err
	}()
	for end := time.Now().Add(time.Minute); !s.holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody holds it after a minute")
		}
	}
	if err := s.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ended with %v", err)
	}
}

// What is sent comes, from whom and to whom it should, in both families of addresses.
func TestDatagramsCross(t *testing.T) {
	for _, c := range []struct{ network, address string }{{"udp4", "127.0.0.1:0"}, {"udp6", "[::1]:0"}, {"udp", "[::]:0"}} {
		t.Run(c.address, func(t *testing.T) {
			s, child := center(t, c.network, c.address)
			if _, err := child.Write([]byte("question")); err != nil {
				t.Fatal(err)
			}
			ms := messages()
			n, err := s.ReadBatch(ms, 0)
			if err != nil || n != 1 || string(ms[0].Buffers[0][:ms[0].N]) != "question" {
				t.Fatalf("%d datagrams, %q, %v", n, ms[0].Buffers[0][:ms[0].N], err)
			}
			from := ms[0].Addr.(*net.UDPAddr)
			if want := child.LocalAddr().(*net.UDPAddr); from.Port != want.Port || !from.IP.Equal(want.IP) {
				t.Errorf("it came from %s, want %s", from, want)
			}
			if k, _, err := s.WriteMsgUDP([]byte("answer"), nil, from); k != len("answer") || err != nil {
				t.Fatalf("%d bytes were sent, %v", k, err)
			}
			answer := make([]byte, 100)
			if k, err := child.Read(answer); err != nil || string(answer[:k]) != "answer" {
				t.Errorf("%q came back, %v", answer[:k], err)
			}
		})
	}
	s, _ := center(t, "udp4", "127.0.0.1:0")
	s.Close()
	if _, err := s.ReadBatch(messages(), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed socket reads %v", err)
	}
}

// holds tells whether the socket has taken the last datagram that there was, and waits for more.
func (s *socket) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding
}
