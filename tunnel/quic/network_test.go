package quic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
)

// carry sends bytes over a new stream and returns how long they took to come back.
func (w *world) carry(child, parent tunnel.Conn, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	began := time.Now()
	out, err := child.OpenStream(ctx)
	if err == nil {
		err = out.SetDeadline(began.Add(time.Minute))
	}
	if err != nil {
		return 0, err
	}
	w.served.Go(func() {
		_, _ = out.Write(make([]byte, n))
		_ = out.Close()
	})
	in, err := parent.AcceptStream(ctx)
	if err != nil {
		return 0, err
	}
	w.served.Go(func() {
		_, _ = io.Copy(in, in)
		_ = in.Close()
	})
	got, err := io.ReadAll(out)
	if err == nil && len(got) != n {
		err = errors.New("the others are lost")
	}
	if err != nil {
		return 0, fmt.Errorf("%d bytes of %d came back: %w", len(got), n, err)
	}
	return time.Since(began), nil
}

// through dials a site, and carries bytes.
func (w *world) through(site int, patience time.Duration, bytes int) error {
	began := time.Now()
	child, err := quic.DialOver(
		w.ctx,
		w.sockets[site],
		w.at,
		quic.DialConfig{TLS: w.center.Site(w.t), Patience: patience},
	)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer child.Close(nil)
	connected := time.Since(began)
	parent, err := w.accept(w.sockets[site].LocalAddr())
	if err != nil {
		return err
	}
	took, err := w.carry(child, parent, bytes)
	w.t.Logf("connected after %s, %d bytes there and back took %s", connected, bytes, took)
	return err
}

// accept returns the parent's end of the connection of a site. Others, whose site has given up, may come before.
func (w *world) accept(child net.Addr) (tunnel.Conn, error) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	for {
		parent, err := w.listener.Accept(ctx)
		if err != nil {
			return nil, fmt.Errorf("accept: %w", err)
		}
		if parent.RemoteAddr().String() == child.String() {
			return parent, nil
		}
	}
}

// Bad networks are slow, and work. Where every other datagram is lost, a connection may end, and
// another does better.
func TestBadNetworks(t *testing.T) {
	loses := func(share float64) func(simnet.Packet) bool {
		return func(simnet.Packet) bool { return rand.Float64() < share }
	}
	for name, c := range map[string]struct {
		drop     func(simnet.Packet) bool
		latency  time.Duration
		patience time.Duration
		bytes    int
	}{
		"1,232 bytes pass": {func(p simnet.Packet) bool { return len(p.Data) > 1232 }, time.Millisecond, 0, 1 << 20},
		"20% loss":         {loses(0.2), 10 * time.Millisecond, 3 * time.Second, 64 << 10},
		"50% loss":         {loses(0.5), 10 * time.Millisecond, 6 * time.Second, 8 << 10},
		"RTT 2 s":          {nil, time.Second, 6 * time.Second, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			const tries = 8
			inFarWorld(t, tries, c.latency, func(t *testing.T, w *world) {
				w.loses(c.drop)
				err := errors.New("no try")
				for try := 0; try < tries && err != nil; try++ {
					err = w.through(try, c.patience, c.bytes)
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A NAT that forgets a connection changes nothing for who uses it.
func TestRebinding(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		child, parent := w.dial(0)
		carry := func() {
			t.Helper()
			took, err := w.carry(child, parent, 1<<10)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("1 KiB there and back took %s", took)
		}
		carry()
		for port := 1000; port < 1003; port++ {
			seems := w.moves(0, port).String()
			carry()
			for tries := 0; parent.RemoteAddr().String() != seems && tries < 10; tries++ {
				carry()
			}
			if at := parent.RemoteAddr().String(); at != seems {
				t.Errorf("the parent sends to %s, the child is at %s", at, seems)
			}
		}
		if child.Err() != nil || parent.Err() != nil {
			t.Errorf("the connection ended: %v, %v", child.Err(), parent.Err())
		}
	})
}
