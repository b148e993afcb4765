package quic_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/quic"
)

// floodSize is how many handshakes are begun and never ended: SKERRY_FLOOD, else enough to see the
// limits at work. So many honest children dial before it, and twice as many during it.
func floodSize(t testing.TB) (n, honest int) {
	if n, err := strconv.Atoi(os.Getenv("SKERRY_FLOOD")); err == nil {
		return n, 100
	}
	if !storetest.Figures() {
		return 300, 10
	}
	return 1500, 100
}

// recorder is a socket that keeps what is sent first and goes nowhere.
type recorder struct {
	net.PacketConn
	first chan []byte
}

func (r recorder) WriteTo(b []byte, _ net.Addr) (int, error) {
	select {
	case r.first <- append([]byte(nil), b...):
	default:
	}
	return len(b), nil
}

// hellos are the first datagrams of handshakes that nobody goes on with.
func hellos(t testing.TB, s *site, n int) [][]byte {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	out := make([][]byte, n)
	r := recorder{socket, make(chan []byte, 1)}
	transport := &quicgo.Transport{Conn: r}
	defer transport.Close()
	for i := range out {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			transport.Dial(ctx, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, s.child, &quicgo.Config{})
		}()
		out[i] = <-r.first
		cancel()
		<-done
		select {
		case <-r.first:
		default:
		}
	}
	return out
}

func rss(t testing.TB) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// latencies dials honestly, one after the other, and returns the times in order.
func (s *site) latencies(t testing.TB, n int) []time.Duration {
	t.Helper()
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		c, err := quic.Dial(
			ctx,
			s.packet.LocalAddr().String(),
			quic.DialConfig{TLS: s.child, Log: slog.New(slog.DiscardHandler)},
		)
		cancel()
		if err != nil {
			t.Fatalf("an honest child is not let in: %v", err)
		}
		out[i] = time.Since(began)
		c.Close(nil)
	}
	slices.Sort(out)
	return out
}

// A flood of handshakes that nobody ends costs bounded memory, and honest children come in
// meanwhile.
func TestFlood(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := s.listener.Accept(ctx)
			if err != nil {
				return
			}
			accepting.Go(func() { <-c.Done() })
		}
	})
	defer accepting.Wait()
	defer cancel()
	n, honest := floodSize(t)
	datagrams := hellos(t, s, n)
	calm := s.latencies(t, honest)
	runtime.GC()
	debug.FreeOSMemory()
	before := rss(t)
	most := before
	stop := make(chan struct{})
	var attack sync.WaitGroup
	attack.Go(func() { // from many ports, over a few seconds
		var sockets []net.Conn
		for range 64 {
			c, err := net.Dial("udp", s.packet.LocalAddr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			sockets = append(sockets, c)
		}
		for i, d := range datagrams {
			select {
			case <-stop:
				return
			default:
			}
			_, _ = sockets[i%len(sockets)].Write(d)
			if i%20 == 0 {
				time.Sleep(5 * time.Millisecond)
				most = max(most, rss(t))
			}
		}
	})
	flooded := s.latencies(t, 2*honest)
	attack.Wait()
	close(stop)
	p99 := func(d []time.Duration) time.Duration { return d[len(d)*99/100] }
	t.Logf("%d half-open handshakes: RSS +%d KiB; honest p50 %s -> %s, p99 %s -> %s", n, most-before,
		calm[honest/2], flooded[honest], p99(calm), p99(flooded))
	if !storetest.Figures() {
		return
	}
	if most-before > 64<<10 {
		t.Errorf("RSS grew by %d KiB, at most 64 MiB", most-before)
	}
	if flooded[honest] > 20*calm[honest/2]+50*time.Millisecond {
		t.Error(fmt.Sprint("honest children wait: ", flooded[honest]))
	}
}
