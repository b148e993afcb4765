package requests

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Each connection comes from the next port of the sequence. One that another socket has is passed over.
func TestPortsOfConnections(t *testing.T) {
	server := listen(t)
	var p ports
	for i := range 20 {
		want := firstPort + int(p.next.Load())
		blocked, err := net.ListenTCP("tcp", &net.TCPAddr{Port: want})
		if err == nil && i%2 == 1 {
			want++
		} else if err == nil {
			blocked.Close()
		}
		conn, err := p.dial(t.Context(), "", "tcp", server)
		if err != nil {
			t.Fatal(err)
		}
		got := conn.LocalAddr().(*net.TCPAddr).Port
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if blocked != nil {
			blocked.Close()
		}
		if got < want || got != firstPort+int(p.next.Load())-1 {
			t.Fatalf("connected from %d, want %d or, if others have it, a later one; the next is %d", got, want,
				firstPort+p.next.Load())
		}
	}
}

// No port comes again before all others have come, and then the next one does.
func TestPortsComeAgainAfterAllOthers(t *testing.T) {
	p := newPorts()
	first := p.take()
	seen := map[int]bool{first: true}
	for range portCount - 1 {
		port := p.take()
		if port < firstPort || port > 60999 || seen[port] {
			t.Fatalf("port %d after %d others; it came before: %v", port, len(seen), seen[port])
		}
		seen[port] = true
	}
	if again := p.take(); again != first {
		t.Errorf("after all ports came %d, want %d", again, first)
	}
}

// Ways to different addresses have ports apart: the same port serves both at once.
func TestPortsOfSeveralWays(t *testing.T) {
	one, two := listen(t), listen(t)
	for range 100 {
		a, b := newPorts(), &ports{}
		first, err := a.dial(t.Context(), "", "tcp", one)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		b.next.Store(a.next.Load() - 1)
		second, err := b.dial(t.Context(), "", "tcp", two)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if got, want := second.LocalAddr().(*net.TCPAddr).Port, first.LocalAddr().(*net.TCPAddr).Port; got != want {
			t.Fatalf("the second way has port %d, the first %d", got, want)
		}
	}
}

// An address that does not answer is given up by the kernel, long before the request's own deadline.
func TestPortsGiveUpWhatDoesNotAnswer(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	p := newPorts()
	for range 10 { // nobody accepts: soon the kernel drops what comes
		conn, err := p.dial(t.Context(), "", "tcp", address)
		if errors.Is(err, syscall.ETIMEDOUT) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	t.Error("connected ten times to a server that accepts nothing")
}

// listen returns the address of a server that accepts connections until the test ends.
func listen(t *testing.T) string {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	return server.Addr().String()
}
