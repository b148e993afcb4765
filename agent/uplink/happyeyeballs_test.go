package uplink

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
)

// script says what a way does: it stands, or fails, after a time.
type script map[string]struct {
	takes time.Duration
	err   error
}

func way(name string) Route { return Route{name, name, name} }

func TestHappyEyeballs(t *testing.T) {
	down := errors.New("down")
	var never time.Duration = 1 << 60
	for name, c := range map[string]struct {
		ways   []string
		script script
		winner string
		took   time.Duration
		tried  int
	}{
		"the first is quick": {[]string{"a", "b"}, script{"a": {100 * time.Millisecond, nil}}, "a",
			100 * time.Millisecond, 1},
		"the first is a black hole": {[]string{"a", "b"},
			script{"a": {never, nil}, "b": {50 * time.Millisecond, nil}}, "b", 350 * time.Millisecond, 2},
		"the first fails at once": {[]string{"a", "b"},
			script{"a": {0, down}, "b": {50 * time.Millisecond, nil}}, "b", 50 * time.Millisecond, 2},
		"two fail, the third waits for nobody": {[]string{"a", "b", "c"},
			script{"a": {400 * time.Millisecond, down}, "b": {110 * time.Millisecond, down},
				"c": {0, nil}}, "c", 410 * time.Millisecond, 3},
		"the slow first overtakes": {[]string{"a", "b"},
			script{"a": {500 * time.Millisecond, nil}, "b": {time.Second, nil}}, "a", 500 * time.Millisecond, 2},
		"all fail": {[]string{"a", "b"}, script{"a": {time.Second, down}, "b": {time.Second, down}},
			"", 1300 * time.Millisecond, 2},
		"all are silent": {[]string{"a", "b"}, script{"a": {never, nil}, "b": {never, nil}}, "", 10 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var ways []Route
				for _, w := range c.ways {
					ways = append(ways, way(w))
				}
				var mu sync.Mutex // guards open and tried
				var open []tunnel.Conn
				tried := 0
				dial := func(ctx context.Context, w Route, _ *dialActivity) (tunnel.Conn, error) {
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
				conn, won, err := happyEyeballs(ctx, plan(ways, Route{}, 0), false, new(dialActivity), dial)
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

// A parent that answers has its time before another way is tried, and one that has no room is not
// asked for it twice at the same address.
func TestHappyEyeballsToABusyParent(t *testing.T) {
	crowded := &quicgo.TransportError{Remote: true, ErrorCode: quicgo.ConnectionRefused}
	ways := []Route{{"a", "1", overQUIC}, {"a", "1", overTCP}, {"b", "2", overQUIC}, {"b", "2", overTCP}}
	for name, c := range map[string]struct {
		answers, stands time.Duration // the first way answers for so long, and stands then, or never
		err             error
		stubborn        bool
		tried           []Route
		took            time.Duration
	}{
		"it is slow, and answers": {answers: 3 * time.Second, stands: 3500 * time.Millisecond,
			tried: ways[:1], took: 3500 * time.Millisecond},
		"it has answered, and is silent":      {answers: time.Second, tried: ways[:2], took: time.Second + answerGap},
		"it answers without end":              {answers: time.Hour, tried: ways[:2], took: headStart(0) + longestHold},
		"it has no room":                      {err: crowded, tried: []Route{ways[0], ways[2]}},
		"it has had no room for a long while": {err: crowded, stubborn: true, tried: ways[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // guards tried
				var tried []Route
				began := time.Now()
				dial := func(ctx context.Context, w Route, answers *dialActivity) (tunnel.Conn, error) {
					mu.Lock()
					tried = append(tried, w)
					mu.Unlock()
					if w != ways[0] {
						child, _ := pipe.New(pipe.Options{})
						return child, nil
					}
					if c.err != nil {
						return nil, c.err
					}
					for ctx.Err() == nil && (c.stands == 0 || time.Since(began) < c.stands) {
						time.Sleep(100 * time.Millisecond)
						if time.Since(began) <= c.answers {
							answers.record()
						}
					}
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
					child, _ := pipe.New(pipe.Options{})
					return child, nil
				}
				conn, _, err := happyEyeballs(t.Context(), plan(ways, Route{}, 0), c.stubborn, new(dialActivity), dial)
				if err != nil {
					t.Fatal(err)
				}
				conn.Close(nil)
				if took := time.Since(began); took < c.took || took > c.took+100*time.Millisecond ||
					!slices.Equal(tried, c.tried) {
					t.Errorf("%v were tried in %s, want %v in %s", tried, took, c.tried, c.took)
				}
			})
		})
	}
}

func TestPlan(t *testing.T) {
	ways := []Route{{"a", "1", overQUIC}, {"a", "1", overTCP}, {"b", "2", overQUIC}, {"b", "2", overTCP}}
	names := func(starts []start) (out []string) {
		for _, s := range starts {
			out = append(out, s.way.Transport+s.way.Address)
		}
		return out
	}
	for _, c := range []struct {
		good Route
		want []string
	}{
		{Route{}, []string{"quic1", "tcp1", "quic2", "tcp2"}},
		{ways[0], []string{"quic1", "tcp1", "quic2", "tcp2"}},
		{ways[3], []string{"tcp2", "quic1", "tcp1", "quic2"}},
		{Route{"gone", "9", overTCP}, []string{"quic1", "tcp1", "quic2", "tcp2"}},
	} {
		if got := names(plan(ways, c.good, 0)); !slices.Equal(got, c.want) {
			t.Errorf("%v good: %v, want %v", c.good, got, c.want)
		}
	}
	if got := plan(ways, Route{}, 2*time.Second)[1].after; got != 3*time.Second {
		t.Errorf("TCP begins after %s on a path of 2 s", got)
	}
}
