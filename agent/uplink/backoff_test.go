package uplink

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

func TestWaitAfter(t *testing.T) {
	noRoute := fmt.Errorf(
		"dial parent: %w",
		errors.Join(&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, errors.New("x")),
	)
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

// A session whose place was taken by a connection that this site has given up comes again at once;
// two agents with one identity do not fight.
func TestOutrunByAnOlderConnection(t *testing.T) {
	u := &uplink{}
	for i, c := range []struct {
		forsaken time.Time
		want     error
	}{{time.Now(), errOutrun}, {time.Time{}, tunnel.ErrReplaced}, {time.Now().Add(-2 * tunnel.Idle), tunnel.ErrReplaced}} {
		u.forsaken = c.forsaken
		welcomed := make(chan struct{})
		close(welcomed)
		s := &session{welcomed: welcomed, err: tunnel.ErrReplaced}
		u.Log = slog.New(slog.DiscardHandler)
		if err := u.over(t.Context(), s); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
		if errors.Is(u.over(t.Context(), &session{welcomed: welcomed, err: tunnel.ErrReplaced}), errOutrun) {
			t.Errorf("%d: another agent is taken for this one's older connection", i)
		}
	}
}

// A parent that lets nobody in at the moment says nothing of this site.
func TestCrowdedParent(t *testing.T) {
	crowded := fmt.Errorf("dial parent: %w", &quicgo.TransportError{Remote: true, ErrorCode: quicgo.ConnectionRefused})
	if answered(crowded) || waitAfter(crowded, 1, time.Hour) > 2*firstWait ||
		waitAfter(crowded, 1000, time.Hour) > crowdedWait {
		t.Error("a site waits for long because others were quicker")
	}
	if !answered(
		fmt.Errorf("dial parent: %w", &quicgo.TransportError{Remote: true, ErrorCode: quicgo.ProtocolViolation}),
	) {
		t.Error("a parent's answer is taken for silence")
	}
}
