package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen is a service manager: what is said to it arrives on the channel.
func listen(t *testing.T, watchdog string) <-chan string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", watchdog)
	said := make(chan string, 1000)
	go func() {
		defer close(said)
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			said <- string(buf[:n])
		}
	}()
	return said
}

func await(t *testing.T, said <-chan string, part string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case s := <-said:
			if strings.Contains(s, part) {
				return
			}
		case <-deadline:
			t.Fatalf("never said %q", part)
		}
	}
}

func TestWatchdogIsFedByTheCheckAlone(t *testing.T) {
	said := listen(t, "60000") // checked each 20 ms
	var failing atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	m := New(slog.New(slog.DiscardHandler), "serving")
	go func() {
		defer close(ended)
		m.Supervise(ctx, func(context.Context) error {
			if failing.Load() {
				return errors.New("stuck")
			}
			return nil
		})
	}()
	await(t, said, "READY=1\nSTATUS=serving")
	await(t, said, "WATCHDOG=1")
	failing.Store(true)
	await(t, said, "STATUS=not alive: stuck")
	for range 3 { // and now nothing feeds it
		if s := <-said; strings.Contains(s, "WATCHDOG=1") {
			t.Errorf("fed while the check fails: %q", s)
		}
	}
	failing.Store(false)
	await(t, said, "WATCHDOG=1\nSTATUS=serving")
	m.Stopping()
	await(t, said, "STOPPING=1")
	cancel()
	<-ended
}

func TestACheckThatHangsFails(t *testing.T) {
	said := listen(t, "60000")
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		New(slog.New(slog.DiscardHandler), "").Supervise(ctx, func(context.Context) error { <-release; return nil })
	}()
	await(t, said, "STATUS=not alive: no answer within 20ms")
	cancel()
	<-ended
}
