package quic_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// large is a feed with one object that takes several packets, and does not compress.
func large(t *testing.T) (f *store.Feed, change func()) {
	t.Helper()
	var mu sync.Mutex
	body := []byte(`{}`)
	f = store.NewFeed(store.NewIncarnation(), 0, func(context.Context, store.Key) ([]byte, int64, error) {
		mu.Lock()
		defer mu.Unlock()
		return body, 1, nil
	})
	revision := int64(0)
	change = func() {
		noise := make([]byte, 4<<10)
		if _, err := rand.Read(noise); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		body = []byte(`{"noise":"` + hex.EncodeToString(noise) + `"}`)
		revision++
		f.Apply(revision, store.Change{Key: storetest.Key(1), Hash: store.HashBody(1, body), Generation: 1})
	}
	change()
	return f, change
}

// stuck is a disk that takes nothing while it is stuck.
type stuck struct {
	*storetest.Memory
	free chan struct{}
}

func (s stuck) Commit(ctx context.Context, b store.Batch) error {
	select {
	case <-s.free:
		return s.Memory.Commit(ctx, b)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A link on which full packets begin to vanish while small ones cross ends the session, whoever has
// something to say; a receiver whose disk is stuck does not. When the first losses have closed
// QUIC's congestion window even heartbeats wait behind what vanishes: then the session ends as one
// over a dead link does.
func TestHoleThatOpensLater(t *testing.T) {
	for name, c := range map[string]struct {
		hole, up bool
	}{"desired state": {hole: true}, "reports": {hole: true, up: true}, "a stuck disk": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child, parent, relay := through(t, newSite(t), tunneltest.Faults{}, 0)
			desired, changeDesired := large(t)
			reported, changeReported := large(t)
			down, inbox := stuck{storetest.NewMemory(), make(chan struct{}, 1)}, storetest.NewMemory()
			if c.hole {
				close(down.free)
			} else {
				down.free <- struct{}{}
			}
			alive := make(chan struct{}, 1)
			ready := make(chan struct{})
			close(ready)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 2)
			go func() {
				ended <- tunnel.ServeChild(ctx, child,
					tunnel.ChildConfig{Desired: down, Reported: reported, ReportedReady: ready, Probe: alive})
			}()
			go func() {
				ended <- tunnel.ServeParent(ctx, parent, tunneltest.Parent{Feed: desired, Inbox: inbox}.Config())
			}()
			for end := time.Now().Add(time.Minute); len(down.Live()) == 0 ||
				len(inbox.Live()) == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("nothing crosses a link without faults")
				}
			}
			if c.hole {
				relay.Set(tunneltest.Faults{MTU: 1100})
			}
			if c.up {
				changeReported()
			} else {
				changeDesired()
			}
			ticks := time.NewTicker(2 * time.Second) // as an agent asks for signs of life
			defer ticks.Stop()
			over := time.After(3 * time.Minute)
			if !c.hole {
				over = time.After(25 * time.Second)
			}
			for range 2 {
				for waiting := true; waiting; {
					select {
					case err := <-ended:
						waiting = false
						if c.hole && !errors.Is(err, tunnel.ErrStalled) &&
							!errors.As(err, new(*quicgo.IdleTimeoutError)) ||
							!c.hole && !errors.Is(err, context.Canceled) && !errors.Is(err, tunnel.ErrDraining) {
							t.Errorf("a side ended with %v", err)
						}
					case <-ticks.C:
						select {
						case alive <- struct{}{}:
						default:
						}
					case <-over:
						if c.hole {
							t.Fatal("the session goes on, and delivers nothing")
						}
						cancel()
					}
				}
			}
			cancel()
		})
	}
}
