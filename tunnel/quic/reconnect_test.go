package quic_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// apart is a site whose sessions a test begins and ends. Its copies survive.
type apart struct {
	*site
	desired, reported *objects
	copied, inbox     *storetest.Memory
}

// session brings both copies up to date and returns what that cost: payload of all UDP datagrams, the handshake included.
func (a *apart) session(t *testing.T) int {
	t.Helper()
	child, parent := a.pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 2)
	go func() {
		served <- tunnel.ServeChild(ctx, child, tunnel.ChildConfig{Desired: a.copied, Reported: a.reported.Feed})
	}()
	go func() {
		served <- tunnel.ServeParent(ctx, parent, tunnel.ParentConfig{Admit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
			return tunnel.Admission{Feed: a.desired.Feed, Inbox: a.inbox}, nil
		}})
	}()
	same := func() bool {
		return a.copied.Position() == a.desired.Head() && a.inbox.Position() == a.reported.Head() && a.copied.Root() == a.desired.Root() && a.inbox.Root() == a.reported.Root()
	}
	for end := time.Now().Add(time.Minute); !same(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the copies are at %s and %s, the feeds at %s and %s", a.copied.Position(), a.inbox.Position(), a.desired.Head(), a.reported.Head())
		}
	}
	settle(t, child)
	s := child.Stats()
	cancel()
	<-served
	<-served
	return int(s.SentBytes + s.ReceivedBytes)
}

// restartAgent gives the site a reported feed of a new incarnation with what it had, as a restart does.
func (a *apart) restartAgent() {
	old := a.reported
	a.reported = newObjects(true)
	for k, body := range old.bodies {
		a.reported.set(k, body)
	}
}

// TestReconnectBytes holds what coming back costs after an outage in which k of n objects changed: it grows with k, not with n.
func TestReconnectBytes(t *testing.T) {
	const n = 10_000
	a := &apart{site: newSite(t), desired: newObjects(false), reported: newObjects(true), copied: storetest.NewMemory(), inbox: storetest.NewMemory()}
	a.inbox.AcceptNewIncarnation = true
	version := 0
	change := func(from, k int) {
		version++
		for i := from; i < from+k; i++ {
			key, body := deployment(i)
			a.desired.set(key, fmt.Appendf(body[:len(body)-1], `,"version":%d}`, version))
		}
	}
	change(0, n)
	for i := range n {
		a.reported.set(podKey(i), podReport(i, 2))
	}
	t.Logf("the first session, %d objects and %d reports: %d bytes", n, n, a.session(t))
	nothing := 0
	for _, c := range []struct {
		what    string
		limit   func() int
		outage  func()
		measure func(bytes int)
	}{
		{"nothing changed", func() int { return 12 << 10 }, func() {}, func(b int) { nothing = b }},
		{"1 object changed", func() int { return nothing + 1<<10 }, func() { change(7, 1) }, nil},
		{"100 objects changed", func() int { return nothing + 100*400 }, func() { change(100, 100) }, nil},
		{"the agent restarted, nothing changed", func() int { return 12 << 10 }, a.restartAgent, func(b int) { nothing = b }},
		{"the agent restarted, 1 object changed", func() int { return nothing + 1<<10 }, func() { a.restartAgent(); change(9, 1) }, nil},
		{"beyond the tombstones' horizon, nothing else changed", func() int { return 64 << 10 }, a.forget, nil},
		{"beyond the tombstones' horizon, 1 object changed", func() int { return 65 << 10 }, func() { a.forget(); change(11, 1) }, nil},
		{"beyond the tombstones' horizon, 100 objects changed", func() int { return 64<<10 + 100*400 }, func() { a.forget(); change(300, 100) }, nil},
	} {
		bytes := math.MaxInt
		for try := 0; try < 3 || try < 10 && bytes > c.limit(); try++ { // a busy machine is late with acknowledgements, and packets are sent again
			c.outage()
			bytes = min(bytes, a.session(t))
		}
		t.Logf("%s: %d bytes (goal %d)", c.what, bytes, c.limit())
		if bytes > c.limit() {
			t.Errorf("%s: %d bytes, goal %d", c.what, bytes, c.limit())
		}
		if c.measure != nil {
			c.measure(bytes)
		}
	}
}

// forget makes and removes so many other objects that the feed does not know any more what the receiver has missed.
func (a *apart) forget() {
	revision := a.desired.revision
	for i := range store.MaxTombstones + 10 {
		k := store.Key{Space: "shop", Resource: "configmaps", Namespace: "gone", Name: fmt.Sprint("c", i)}
		a.desired.Apply(revision+1, store.Change{Key: k, Hash: store.HashBody(1, []byte("{}")), Generation: 1})
		a.desired.Apply(revision+2, store.Change{Key: k})
	}
	a.desired.revision += 2
}
