package uplink

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
)

// script says what a way does: it stands, or fails, after a time.
type script map[string]struct {
	takes time.Duration
	err   error
}

func way(name string) Way { return Way{name, name, name} }

func TestRace(t *testing.T) {
	down := errors.New("down")
	var never time.Duration = 1 << 60
	for name, c := range map[string]struct {
		ways   []string
		script script
		winner string
		took   time.Duration
		tried  int
	}{
		"the first is quick":        {[]string{"a", "b"}, script{"a": {100 * time.Millisecond, nil}}, "a", 100 * time.Millisecond, 1},
		"the first is a black hole": {[]string{"a", "b"}, script{"a": {never, nil}, "b": {50 * time.Millisecond, nil}}, "b", 350 * time.Millisecond, 2},
		"the first fails at once":   {[]string{"a", "b"}, script{"a": {0, down}, "b": {50 * time.Millisecond, nil}}, "b", 50 * time.Millisecond, 2},
		"two fail, the third waits for nobody": {[]string{"a", "b", "c"}, script{"a": {400 * time.Millisecond, down}, "b": {110 * time.Millisecond, down},
			"c": {0, nil}}, "c", 410 * time.Millisecond, 3},
		"the slow first overtakes": {[]string{"a", "b"}, script{"a": {500 * time.Millisecond, nil}, "b": {time.Second, nil}}, "a", 500 * time.Millisecond, 2},
		"all fail":                 {[]string{"a", "b"}, script{"a": {time.Second, down}, "b": {time.Second, down}}, "", 1300 * time.Millisecond, 2},
		"all are silent":           {[]string{"a", "b"}, script{"a": {never, nil}, "b": {never, nil}}, "", 10 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var ways []Way
				for _, w := range c.ways {
					ways = append(ways, way(w))
				}
				var mu sync.Mutex // guards open and tried
				var open []tunnel.Conn
				tried := 0
				dial := func(ctx context.Context, w Way) (tunnel.Conn, error) {
					mu.Lock()
					tried++
					mu.Unlock()
					is := c.script[w.Transport]
					select {
					case <-time.After(is.takes):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if is.err != nil {
						return nil, is.err
					}
					child, _ := pipe.New(pipe.Options{})
					mu.Lock()
					open = append(open, child)
					mu.Unlock()
					return child, nil
				}
				began := time.Now()
				conn, won, err := race(ctx, plan(ways, Way{}, 0), dial)
				if won.Transport != c.winner || (err == nil) != (c.winner != "") {
					t.Errorf("won: %q, %v", won.Transport, err)
				}
				if took := time.Since(began); took != c.took || tried != c.tried {
					t.Errorf("took %s with %d tries, want %s with %d", took, tried, c.took, c.tried)
				}
				for _, o := range open {
					if (o.Err() == nil) != (o == conn) {
						t.Error("another connection than the winner stands, or the winner does not")
					}
				}
				if err != nil && !errors.Is(err, down) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error does not say why: %v", err)
				}
			})
		})
	}
}

func TestPlan(t *testing.T) {
	ways := []Way{{"a", "1", overQUIC}, {"a", "1", overTCP}, {"b", "2", overQUIC}, {"b", "2", overTCP}}
	names := func(starts []start) (out []string) {
		for _, s := range starts {
			out = append(out, s.way.Transport+s.way.Address)
		}
		return out
	}
	for _, c := range []struct {
		good Way
		want []string
	}{
		{Way{}, []string{"quic1", "tcp1", "quic2", "tcp2"}},
		{ways[0], []string{"quic1", "tcp1", "quic2", "tcp2"}},
		{ways[3], []string{"tcp2", "quic1", "tcp1", "quic2"}},
		{Way{"gone", "9", overTCP}, []string{"quic1", "tcp1", "quic2", "tcp2"}},
	} {
		if got := names(plan(ways, c.good, 0)); !slices.Equal(got, c.want) {
			t.Errorf("%v good: %v, want %v", c.good, got, c.want)
		}
	}
	if got := plan(ways, Way{}, 2*time.Second)[1].after; got != 3*time.Second {
		t.Errorf("TCP begins after %s on a path of 2 s", got)
	}
}
