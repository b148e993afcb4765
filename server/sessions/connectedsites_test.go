package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func at(i int) *net.UDPAddr {
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(1000+i)))
}

// What is on the roll is there after a crash; those who come are called no more, and those who
// never come are forgotten.
func TestRoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "roll")
		ctx, cancel := context.WithCancel(t.Context())
		r := newConnectedSites(path, slog.New(slog.DiscardHandler))
		var running sync.WaitGroup
		running.Go(func() { r.run(ctx) })
		for i := range 3 { // no time passes: the center may be killed right after each
			r.record(fmt.Sprint("site-", i), at(i+10))
			began := time.Now()
			r.wait(ctx)
			if on := newConnectedSites(path, r.log).load(); on[fmt.Sprint("site-", i)] != at(i+10).AddrPort() ||
				!time.Now().Equal(began) {
				t.Errorf("after site %d and %s the roll has %v", i, time.Since(began), on)
			}
		}
		for i := range 5 {
			r.record(fmt.Sprint("site-", i), at(i))
		}
		r.record("site-4", nil)
		r.record("over-tcp", &net.TCPAddr{})
		r.wait(ctx)
		written, err := os.Stat(path)
		must(t, err)
		for range 10 { // nothing new
			r.record("site-1", at(1))
			r.wait(ctx)
			synctest.Wait()
		}
		if now, err := os.Stat(path); err != nil || now.ModTime() != written.ModTime() || now.Mode() != 0o600 {
			t.Errorf("written again without news, or with mode %v: %v", now.Mode(), err)
		}
		cancel()
		running.Wait()

		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		fmt.Fprintf(
			f,
			"torn 192.0.2\n\n nameless\nsite-9 192.0.2.9:1\nlong %s",
			strings.Repeat("x", 10*maxRollLine),
		) // a line that is too long ends it
		must(t, f.Close())
		r = newConnectedSites(path, slog.New(slog.DiscardHandler))
		called := map[string]int{}
		came := func(target string) bool { return target == "site-1" && called[target] > 0 || target == "site-2" }
		r.wakeMissing(t.Context(), r.before(), came, func(to net.Addr, target string) error {
			called[target]++
			return nil
		})
		want := map[string]int{
			"site-0": len(callAgain),
			"site-1": 1,
			"site-3": len(callAgain),
			"site-9": len(callAgain),
		}
		if fmt.Sprint(called) != fmt.Sprint(want) {
			t.Errorf("called %v, want %v", called, want)
		}
		if _, ok := r.entries["site-0"]; ok || len(r.entries) != 2 {
			t.Errorf("on the roll: %v", r.entries)
		}
	})
}

// Sites that come together are written together, the file does not grow with those that come and
// go, and one that cannot be written keeps nobody out.
func TestRollOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		must(t, os.Mkdir(dir, 0o700))
		path := filepath.Join(dir, "roll")
		ctx, cancel := context.WithCancel(t.Context())
		r := newConnectedSites(path, slog.New(slog.DiscardHandler))
		var running sync.WaitGroup
		running.Go(func() { r.run(ctx) })
		began := time.Now()
		for round := range 10 {
			var coming sync.WaitGroup
			for i := range 1000 {
				coming.Go(func() {
					r.record(fmt.Sprint("site-", i), at(round))
					r.wait(ctx)
				})
			}
			coming.Wait()
			on := r.load()
			if len(on) != 1000 || on["site-999"] != at(round).AddrPort() {
				t.Errorf("round %d: %d on the roll, site-999 at %s", round, len(on), on["site-999"])
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they waited %s", took)
		}
		text, err := os.ReadFile(path)
		must(t, err)
		if lines := strings.Count(string(text), "\n"); lines > 2*1000+oldLines {
			t.Errorf("the file of 1,000 has %d lines", lines)
		}

		must(t, os.RemoveAll(dir))
		for i := range 2 { // no time passes
			r.record("late", at(i))
			r.wait(ctx)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("a file that cannot be written kept a site waiting for %s", took)
		}
		must(t, os.Mkdir(dir, 0o700))
		r.record("late", at(2))
		r.wait(ctx)
		if on := r.load(); len(on) != 1001 || on["late"] != at(2).AddrPort() {
			t.Errorf("when it could be written again, it has %d, late at %s", len(on), on["late"])
		}
		cancel()
		running.Wait()
		r.record("late", at(3)) // nobody writes any more
		r.wait(t.Context())
		if took := time.Since(began); took != rollPatience {
			t.Errorf("waited %s for a disk that does not answer", took)
		}
	})
}

// A center that is killed calls its agents when it is there again: they do not wait for their next
// heartbeat. An agent that is called with another's secret does nothing.
func TestKilledCenterCallsItsAgents(t *testing.T) {
	c := newCenter(t)
	stop := c.open()
	c.relay = tunneltest.NewRelay(t, "127.0.0.1:0", c.packet.LocalAddr())
	s := c.joined("paris")
	woken := make(chan []byte, 10)
	c.onWake = func(b []byte) { woken <- b }
	l := c.connect(s)
	welcome := got(t, l.welcome, "a welcome")
	if len(welcome.Wake) != 16 {
		t.Fatalf("the agent was told to expect %x", welcome.Wake)
	}
	kept, err := os.ReadFile(c.roll) // at once: the center may be killed right after the welcome
	must(t, err)
	if !strings.HasPrefix(string(kept), "paris 127.0.0.1:") {
		t.Fatalf("with the welcome the roll is %q", kept)
	}
	c.relay.Set(tunneltest.Faults{Cut: true}) // so that the agent hears nothing of the end
	stop()
	must(t, os.WriteFile(c.roll, kept, 0o600)) // as a kill would have left it
	c.relay.Set(tunneltest.Faults{})
	began := time.Now()
	c.open()
	var secret []byte
	select {
	case datagram := <-woken:
		secret = quic.WakeOf(datagram)
	case <-l.ended: // it had something to say after all, and was told at once that nobody knows the connection
		secret = welcome.Wake
	case <-time.After(patience):
		t.Fatal("the agent does not notice")
	}
	t.Logf("noticed %s after the server was open again", time.Since(began))
	if string(secret) != string(welcome.Wake) || string(secret) == string(wakeSecret([32]byte{1}, "rome")) {
		t.Errorf("called with %x", secret)
	}
	if took := time.Since(began); took > tunnel.Idle/2 {
		t.Errorf("called after %s", took)
	}
}

// Sessions beyond the rate are told when to come, and then there is room.
func TestStorm(t *testing.T) {
	b := newAdmissionLimit(100, 50)
	now := time.Unix(1000, 0)
	waiting := map[int]time.Time{}
	for i := range 1000 {
		waiting[i] = now
	}
	tries, last := 0, now
	for end := now.Add(time.Minute); len(waiting) > 0 && now.Before(end); now = now.Add(10 * time.Millisecond) {
		for i, due := range waiting {
			if due.After(now) {
				continue
			}
			tries++
			err := b.admit(now)
			if err == nil {
				delete(waiting, i)
				last = now
				continue
			}
			refused := err.(*tunnel.Refused)
			if refused.RetryAfter < shortestRetry || refused.RetryAfter > longestRetry {
				t.Fatalf("come back after %s", refused.RetryAfter)
			}
			waiting[i] = now.Add(refused.RetryAfter)
		}
	}
	t.Logf("1,000 sites at 100 a second: all in after %s, %d hellos", last.Sub(time.Unix(1000, 0)), tries)
	if took := last.Sub(time.Unix(1000, 0)); len(waiting) > 0 || took < 9*time.Second || took > 15*time.Second ||
		tries > 2500 {
		t.Errorf("%d still wait after %s, %d hellos", len(waiting), took, tries)
	}
}
