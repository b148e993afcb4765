package uplink

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

func TestWaitAfter(t *testing.T) {
	noRoute := fmt.Errorf("dial parent: %w", errors.Join(&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, errors.New("x")))
	cases := []struct {
		err      error
		failures int
		silent   time.Duration
		min, max time.Duration
	}{
		{errors.New("cut"), 1, 0, 0, firstWait},
		{errors.New("cut"), 3, 0, 0, 4 * firstWait},
		{errors.New("cut"), 1000, 5 * time.Second, 0, shortestGap},
		{errors.New("cut"), 1000, 20 * time.Second, 0, 2 * time.Second},
		{errors.New("cut"), 1000, time.Minute, 0, silentWait},
		{errors.New("cut"), 1000, 20 * time.Minute, 0, 12 * time.Second},
		{errors.New("cut"), 1000, 30 * 24 * time.Hour, 0, longestWait},
		{noRoute, 1000, 30 * 24 * time.Hour, 0, localWait},
		{fmt.Errorf("dial: %w", enroll.ErrWrongCA), 1000, 0, 0, longestWait},
		{fmt.Errorf("dial: %w", tls.AlertError(42)), 1000, 0, 0, longestWait},
		{tunnel.ErrDraining, 1, 0, 0, firstWait},
		{fmt.Errorf("session: %w", tunnel.ErrRenewed), 5, 0, 0, 0},
		{&tunnel.Refused{Reason: "Busy", RetryAfter: 10 * time.Second}, 1, 0, 10 * time.Second, 15 * time.Second},
		{&tunnel.Refused{Reason: "Unknown"}, 1000, 0, longestWait / 2, longestWait * 3 / 2},
		{&tunnel.Refused{Reason: "TargetUnknown", RetryAfter: time.Minute}, 1, 0, time.Minute, 90 * time.Second},
		{&tunnel.Refused{Reason: "TargetUnknown", RetryAfter: time.Minute}, 4, 0, 8 * time.Minute, 12 * time.Minute},
		{&tunnel.Refused{Reason: "TargetUnknown", RetryAfter: time.Minute}, 1000, 0, time.Hour, 90 * time.Minute},
		{tunnel.ErrReplaced, 1, 0, longestWait, 2 * longestWait},
	}
	for _, c := range cases {
		spread, longest := map[time.Duration]bool{}, time.Duration(0)
		for range 200 {
			d := waitAfter(c.err, c.failures, c.silent)
			spread[d] = true
			longest = max(longest, d)
			if d < c.min || d > c.max+1 {
				t.Fatalf("%v after %d failures: %v", c.err, c.failures, d)
			}
		}
		if c.max > c.min && (len(spread) < 100 || longest < c.min+(c.max-c.min)/2) {
			t.Errorf("%v: only %d different waits of 200, up to %s", c.err, len(spread), longest)
		}
	}
}
