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
	"github.com/quic-go/quic-go/testutils/simnet"

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
// something to say. Both sides tell of the hole, or of the silence when the first losses have closed
// QUIC's congestion window: then even heartbeats wait behind what vanishes.
func TestHoleThatOpensLater(t *testing.T) {
	for name, up := range map[string]bool{"desired state": false, "reports": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				l := w.connectLarge(make(chan struct{}), false)
				w.loses(func(p simnet.Packet) bool { return len(p.Data) > 1100 })
				if up {
					l.changeReported()
				} else {
					l.changeDesired()
				}
				for side, ended := range map[string]chan error{"child": l.ended, "parent": l.left} {
					took, err := w.ends(ended, 3*time.Minute)
					if !errors.Is(err, tunnel.ErrStalled) && !errors.As(err, new(*quicgo.IdleTimeoutError)) {
						t.Errorf("the %s ended after %s with %v", side, took, err)
					}
				}
			})
		})
	}
}

// A receiver whose disk is stuck does not end the session.
func TestStuckDisk(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.connectLarge(make(chan struct{}, 1), true)
		l.changeDesired()
		w.lasts(l.link, 10*time.Minute)
	})
}

// largeLink is a session in which both sides have an object that takes several packets.
type largeLink struct {
	*link
	changeDesired, changeReported func()
}

// connectLarge begins a session and returns when both objects have crossed. The child stores what
// free lets it.
func (w *world) connectLarge(free chan struct{}, once bool) *largeLink {
	w.t.Helper()
	desired, changeDesired := large(w.t)
	reported, changeReported := large(w.t)
	disk, inbox := stuck{storetest.NewMemory(), free}, storetest.NewMemory()
	if once {
		free <- struct{}{}
	} else {
		close(free)
	}
	child, parent := w.dial(0)
	ready, probe := make(chan struct{}), make(chan struct{})
	close(ready)
	l := &largeLink{
		link: &link{
			child:  child,
			parent: parent,
			ended:  make(chan error, 1),
			left:   make(chan error, 1),
		},
		changeDesired:  changeDesired,
		changeReported: changeReported,
	}
	w.served.Go(func() {
		l.ended <- tunnel.ServeChild(w.ctx, child,
			tunnel.ChildConfig{Desired: disk, Reported: reported, ReportedReady: ready, Probe: probe})
	})
	w.served.Go(func() {
		l.left <- tunnel.ServeParent(w.ctx, parent, tunneltest.Parent{Feed: desired, Inbox: inbox}.Config())
	})
	w.served.Go(func() { // as an agent asks for heartbeats
		for tick := time.NewTicker(2 * time.Second); ; {
			select {
			case <-tick.C:
				select {
				case probe <- struct{}{}:
				default:
				}
			case <-w.ctx.Done():
				tick.Stop()
				return
			}
		}
	})
	w.lasts(l.link, time.Second)
	if len(disk.Live()) == 0 || len(inbox.Live()) == 0 {
		w.t.Fatal("nothing crosses a link without faults")
	}
	return l
}
