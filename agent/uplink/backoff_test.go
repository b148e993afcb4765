package uplink

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
)

func TestWaitAfter(t *testing.T) {
	cases := []struct {
		err      error
		failures int
		min, max time.Duration
	}{
		{errors.New("cut"), 1, 0, firstWait},
		{errors.New("cut"), 3, 0, 4 * firstWait},
		{errors.New("cut"), 1000, 0, longestWait},
		{tunnel.ErrDraining, 1, 0, firstWait},
		{fmt.Errorf("session: %w", tunnel.ErrRenewed), 5, 0, 0},
		{&tunnel.Refused{Reason: "Busy", RetryAfter: 10 * time.Second}, 1, 10 * time.Second, 15 * time.Second},
		{&tunnel.Refused{Reason: "Unknown"}, 1, longestWait / 2, 2 * longestWait},
		{tunnel.ErrReplaced, 1, longestWait, 2 * longestWait},
	}
	for _, c := range cases {
		spread := map[time.Duration]bool{}
		for range 200 {
			d := waitAfter(c.err, c.failures)
			spread[d] = true
			if d < c.min || d > c.max+1 {
				t.Fatalf("%v after %d failures: %v", c.err, c.failures, d)
			}
		}
		if c.max > c.min && len(spread) < 100 {
			t.Errorf("%v: only %d different waits of 200", c.err, len(spread))
		}
	}
}
