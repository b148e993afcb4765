package quic_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// through is a connection over a network with faults, and how long it took to make.
func through(
	t *testing.T,
	s *site,
	f tunneltest.Faults,
	patience time.Duration,
) (child, parent tunnel.Conn, relay *tunneltest.Relay) {
	t.Helper()
	relay = tunneltest.NewRelay(t, "127.0.0.1:0", s.packet.LocalAddr())
	relay.Set(f)
	began := time.Now()
	var err error
	for try := 1; ; try++ {
		child, err = quic.Dial(
			t.Context(),
			relay.Addr().String(),
			quic.DialConfig{TLS: s.child, Patience: patience, Log: slog.New(slog.DiscardHandler)},
		)
		if err == nil {
			t.Logf("connected after %s, at try %d", time.Since(began), try)
			break
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { child.Close(nil) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if parent, err = s.listener.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	return child, parent, relay
}

// carry sends bytes over a new stream and returns how long they took to come back.
func carry(t *testing.T, child, parent tunnel.Conn, n int) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	began := time.Now()
	out, err := child.OpenStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out.SetDeadline(began.Add(60 * time.Second))
	go func() {
		out.Write(make([]byte, n))
		out.Close()
	}()
	in, err := parent.AcceptStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		io.Copy(in, in)
		in.Close()
	}()
	if got, err := io.ReadAll(out); err != nil || len(got) != n {
		t.Fatalf("%d bytes of %d came back, %v", len(got), n, err)
	}
	return time.Since(began)
}

// Bad networks are slow, and work.
func TestBadNetworks(t *testing.T) {
	for name, c := range map[string]struct {
		faults   tunneltest.Faults
		patience time.Duration
		bytes    int
	}{
		"1,232 bytes pass": {tunneltest.Faults{MTU: 1232}, 0, 1 << 20},
		"20% loss":         {tunneltest.Faults{Loss: 0.2, Delay: 10 * time.Millisecond}, 3 * time.Second, 64 << 10},
		"50% loss":         {tunneltest.Faults{Loss: 0.5, Delay: 10 * time.Millisecond}, 6 * time.Second, 8 << 10},
		"RTT 2 s":          {tunneltest.Faults{Delay: time.Second}, 6 * time.Second, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child, parent, _ := through(t, newSite(t), c.faults, c.patience)
			t.Logf("%d bytes there and back took %s", c.bytes, carry(t, child, parent, c.bytes))
		})
	}
}

// A NAT that forgets a connection changes nothing for who uses it.
func TestRebinding(t *testing.T) {
	child, parent, relay := through(t, newSite(t), tunneltest.Faults{}, 0)
	carry(t, child, parent, 1<<10)
	for range 3 {
		before := parent.RemoteAddr().String()
		relay.Rebind()
		t.Logf("after a rebinding: %s", carry(t, child, parent, 1<<10))
		for end := time.Now().Add(time.Minute); parent.RemoteAddr().String() == before && time.Now().Before(end); {
			carry(t, child, parent, 1<<10)
		}
		if parent.RemoteAddr().String() == before {
			t.Error("the parent still sends to where the child was")
		}
	}
	if child.Err() != nil || parent.Err() != nil {
		t.Errorf("the connection ended: %v, %v", child.Err(), parent.Err())
	}
}
