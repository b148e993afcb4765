package uplink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) {
	compress.Default()
	compress.Thorough().Encode(nil, []byte("{}"))
	leak.Main(m)
}

// site is an uplink to a center.
type site struct {
	desired  *storetest.Memory
	reported *store.Feed
	keep     keeper
	ended    chan struct{} // closed when Run has returned err
	err      error
}

// keeper keeps values in memory.
type keeper struct {
	mu     sync.Mutex
	values map[string][]byte
	writes int
}

func (k *keeper) Meta(name string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.values[name], nil
}

func (k *keeper) SetMeta(name string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values = map[string][]byte{}
	}
	k.values[name] = value
	k.writes++
	return nil
}

func (c *center) site(t *testing.T, adjust ...func(*Config)) *site {
	t.Helper()
	dir := t.TempDir()
	c.Enrol(t, dir, "paris")
	s := &site{desired: storetest.NewMemory()}
	s.reported = store.NewFeed(
		store.NewIncarnation(),
		0,
		func(context.Context, store.Key) ([]byte, int64, error) { return nil, 0, store.ErrGone },
	)
	cfg := Config{
		Dir:        dir,
		Parents:    []string{"https://" + c.address},
		Desired:    s.desired,
		Reported:   s.reported,
		Keep:       &s.keep,
		Log:        slog.New(slog.DiscardHandler),
		Hello:      func(context.Context) tunnel.Hello { return tunnel.Hello{} },
		Conditions: &tunnel.Conditions{},
		firstRetry: 3 * time.Second,
	}
	for _, f := range adjust {
		f(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.ended = make(chan struct{})
	go func() {
		s.err = Run(ctx, cfg)
		close(s.ended)
	}()
	t.Cleanup(func() {
		cancel()
		if <-s.ended; !errors.Is(s.err, tunnel.ErrRemoved) {
			must(t, s.err)
		}
	})
	return s
}

// What a parent says in a session that it has removed the site ends the uplink; nothing else does.
func TestAParentThatHasRemovedTheSite(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	s := c.site(t)
	end := func(why error) {
		within(t, "a session", func() bool { return c.transport() != "" })
		c.mu.Lock()
		defer c.mu.Unlock()
		c.current(why)
	}
	c.place(t, s)
	end(tunnel.ErrDraining)
	within(t, "another session", func() bool { return c.count() > 1 })
	end(tunnel.ErrRemoved)
	select {
	case <-s.ended:
		if !errors.Is(s.err, tunnel.ErrRemoved) {
			t.Errorf("ended with %v", s.err)
		}
	case <-time.After(time.Minute):
		t.Error("goes on")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within waits for a condition and returns how long it took.
func within(t testing.TB, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	storetest.Eventually(t, what, is)
	return time.Since(began)
}

// Where UDP is blocked the site is there over TCP at once, and over QUIC soon after UDP gets
// through again, without a gap.
func TestBlockedUDP(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.relay.Set(tunneltest.Faults{Cut: true})
	s := c.site(t)
	t.Logf(
		"UDP blocked: a session over TCP after %s",
		within(t, "a session over TCP", func() bool { return c.transport() == "tcp" }),
	)
	c.place(t, s)
	c.mu.Lock()
	if c.dialled != c.address {
		t.Errorf("the site says that it dials %q, not %s", c.dialled, c.address)
	}
	c.mu.Unlock()
	c.relay.Set(tunneltest.Faults{})
	stop := make(chan struct{})
	var longest time.Duration
	var placing sync.WaitGroup
	placing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				longest = max(longest, c.place(t, s))
			}
		}
	})
	t.Logf(
		"UDP again: back to QUIC after %s",
		within(t, "a session over QUIC", func() bool { return c.transport() == "quic" }),
	)
	time.Sleep(300 * time.Millisecond)
	close(stop)
	placing.Wait()
	t.Logf("the slowest change over the switch took %s", longest)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost > 0 {
		t.Error("the session over TCP ended before that over QUIC began")
	}
	if n := len(c.sessions); n != 2 {
		t.Errorf("%d sessions, want one over TCP and one over QUIC: %v", n, c.sessions)
	}
}

// When UDP dies without a word the site is there over TCP within ten seconds, idle or not.
func TestDyingUDP(t *testing.T) {
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			s := c.site(t)
			within(t, "a session over QUIC", func() bool { return c.transport() == "quic" })
			c.place(t, s)
			time.Sleep(300 * time.Millisecond)
			c.relay.Set(tunneltest.Faults{Cut: true})
			if busy { // a report is on its way
				s.reported.Apply(1, store.Change{Key: storetest.Key(1), Hash: store.Hash{1}, Generation: 1})
			}
			took := within(t, "a session over TCP", func() bool { return c.transport() == "tcp" })
			t.Logf("UDP dies on a link that is %s: TCP after %s", name, took)
			if took > tunnel.Idle/2 {
				t.Error("it waited until QUIC itself gave up")
			}
			c.place(t, s)
		})
	}
}

// A parent that does not let a second session in leaves the first as it is.
func TestRefusedSecondSession(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.relay.Set(tunneltest.Faults{Cut: true})
	tries := make(chan Route, 100)
	s := c.site(t, func(cfg *Config) { cfg.OnDial = func(w Route) { tries <- w } })
	within(t, "a session over TCP", func() bool { return c.transport() == "tcp" })
	c.mu.Lock()
	c.refuse = &tunnel.Refused{Reason: "Busy", RetryAfter: time.Second}
	c.mu.Unlock()
	c.relay.Set(tunneltest.Faults{})
	for len(tries) > 0 {
		<-tries
	}
	if w := <-tries; w.Transport != overQUIC {
		t.Errorf("tried %s, want QUIC", w)
	}
	time.Sleep(time.Second)
	c.place(t, s)
	if n := c.count(); n != 1 || c.transport() != "tcp" {
		t.Errorf("%d sessions, the last over %s", n, c.transport())
	}
}

// What was good is remembered over a restart and tried first.
func TestGoodWayIsRemembered(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.relay.Set(tunneltest.Faults{Cut: true})
	keep := &keeper{}
	for i := range 2 {
		tries := make(chan Route, 100)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.site(t, func(cfg *Config) {
				cfg.Keep, cfg.firstRetry = keep, time.Hour
				cfg.Parents = []string{"https://127.0.0.1:1", "https://" + c.address}
				cfg.OnDial = func(w Route) { tries <- w }
			})
			within(t, "a session", func() bool { return c.transport() == "tcp" })
			if n := len(tries); i == 1 && n != 1 {
				t.Errorf("%d ways tried, want the good one alone", n)
			}
		})
		within(t, "the end of the session", func() bool { return c.transport() == "" })
	}
	if keep.writes != 1 {
		t.Errorf("%d writes, want 1", keep.writes)
	}
}

// A wrong CA at one address does not keep the site from another, and is told when it is all there
// is.
func TestAnotherCenterAtTheFirstAddress(t *testing.T) {
	t.Parallel()
	c, other := newCenter(t), newCenter(t)
	s := c.site(t, func(cfg *Config) { cfg.Parents = []string{"https://" + other.address, "https://" + c.address} })
	within(t, "a session", func() bool { return c.transport() == "quic" })
	c.place(t, s)
	if other.count() > 0 {
		t.Error("a session with another center")
	}
}

func TestParseParents(t *testing.T) {
	for _, wrong := range [][]string{nil, {""}, {"center:7443"}, {"http://center:7443"}, {"https://"},
		{"https://u:p@center"}, {"https://center/x"}} {
		if p, err := parseParents(wrong); err == nil {
			t.Errorf("%q is %v", wrong, p)
		}
	}
	p, err := parseParents([]string{"https://center.example", "https://[::1]:1/"})
	if err != nil || p[0].hostPort != "center.example:7443" || p[1].hostPort != "[::1]:1" {
		t.Errorf("%v, %v", p, err)
	}
	if err := Run(t.Context(), Config{Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, ErrRefused) {
		t.Errorf("without a parent: %v", err)
	}
}

// A parent that was restarted calls; the site dials at once, although it has nothing to say. A call
// with another's secret is none.
func TestCalledAfterARestart(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.wake = []byte("a secret of this site")
	c.site(t)
	within(t, "a session", func() bool { return c.transport() == "quic" })
	call := func(secret string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		must(t, c.quic.Wake(c.from, []byte(secret)))
	}
	time.Sleep(200 * time.Millisecond)
	call("a secret of another")
	time.Sleep(500 * time.Millisecond)
	if n := c.count(); n != 1 {
		t.Fatalf("%d sessions after a stranger's call", n)
	}
	call("a secret of this site")
	t.Logf(
		"a new session %s after the call",
		within(t, "a new session", func() bool { return c.count() == 2 }),
	)
}
