package quic_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// apart is a site whose sessions a test begins and ends. Its copies survive.
type apart struct {
	*world
	desired, reported *objects
	copied, inbox     *storetest.Memory
}

// cost is what a session took: the payload of all UDP datagrams, the handshake included, and that
// part of it that is the tunnel's own.
type cost struct{ bytes, own int }

// session brings both copies up to date over a site's socket and returns what that cost.
func (a *apart) session(t *testing.T, site int) cost {
	t.Helper()
	child, parent := a.dial(site)
	ctx, cancel := context.WithCancel(a.ctx)
	served, meter := make(chan error, 2), traffic.New()
	go func() {
		served <- tunnel.ServeChild(ctx, child,
			tunnel.ChildConfig{Desired: a.copied, Reported: a.reported.Feed, Meter: meter})
	}()
	go func() {
		served <- tunnel.ServeParent(ctx, parent, tunneltest.Parent{Feed: a.desired.Feed, Inbox: a.inbox}.Config())
	}()
	same := func() bool {
		return a.copied.Position() == a.desired.Head() && a.inbox.Position() == a.reported.Head() &&
			a.copied.Root() == a.desired.Root() &&
			a.inbox.Root() == a.reported.Root()
	}
	for end := time.Now().Add(5 * time.Minute); !same(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf(
				"the copies are at %s and %s, the feeds at %s and %s",
				a.copied.Position(),
				a.inbox.Position(),
				a.desired.Head(),
				a.reported.Head(),
			)
		}
	}
	settle(t, child)
	s := child.Stats()
	cancel()
	<-served
	<-served
	own := uint64(0)
	for p := range traffic.Transport {
		own += meter.Bytes(traffic.Sent, p) + meter.Bytes(traffic.Received, p)
	}
	return cost{int(s.SentBytes + s.ReceivedBytes), int(own)}
}

// restartAgent gives the site a reported feed of a new incarnation with what it had, as a restart
// does.
func (a *apart) restartAgent() {
	old := a.reported
	a.reported = newObjects(true)
	for k, body := range old.bodies {
		a.reported.set(k, body)
	}
}

// TestReconnectBytes holds what coming back costs after an outage in which k of n objects changed:
// it grows with k, not with n.
func TestReconnectBytes(t *testing.T) { inWorld(t, 10, comingBackCosts) }

func comingBackCosts(t *testing.T, w *world) {
	const n = 2_000
	a := &apart{
		world:    w,
		desired:  newObjects(false),
		reported: newObjects(true),
		copied:   storetest.NewMemory(),
		inbox:    storetest.NewMemory(),
	}
	a.inbox.AcceptNewIncarnation = true
	version := 0
	change := func(from, k int) {
		version++
		for i := from; i < from+k; i++ {
			key, body := deployment(i)
			a.desired.set(key, fmt.Appendf(body[:len(body)-1], `,"version":%d}`, version))
		}
	}
	step := 0
	report := func() {
		step++
		a.reported.set(podKey(9), podReport(9, step%2))
	}
	change(0, n)
	for i := range n {
		a.reported.set(podKey(i), podReport(i, 2))
	}
	t.Logf("the first session, %d objects and %d reports: %d bytes", n, n, a.session(t, 0).bytes)
	nothing := 0
	const packets = 300 // of a kilobyte more, what two packets and their acknowledgements take beside what is in them
	for i, c := range []struct {
		what       string
		limit, own int // more bytes than when nothing changed
		outage     func()
	}{
		{"nothing changed", 9 << 10, 0, func() {}},
		{"1 object changed", 10 << 10, 1<<10 - packets, func() { change(7, 1) }},
		{"100 objects changed", 9<<10 + 100*400, 100 * 400, func() { change(100, 100) }},
		{"the agent restarted, nothing changed", 9 << 10, 1<<10 - packets, a.restartAgent},
		{"the agent restarted, 1 object changed", 10 << 10, 2 * (1<<10 - packets), func() { a.restartAgent(); change(9, 1) }},
		{"the agent restarted, 1 object and its report changed", 10 << 10, 1 << 10, func() {
			a.restartAgent()
			change(9, 1)
			report()
		}},
		{"beyond the tombstones' horizon, nothing else changed", 9 << 10, 1<<10 - packets, a.forget},
		{"beyond the tombstones' horizon, 1 object changed", 10 << 10, 1<<10 - packets, func() { a.forget(); change(11, 1) }},
		{"beyond the tombstones' horizon, 100 objects changed", 9<<10 + 100*400, 100 * 200, func() {
			a.forget()
			change(300, 100)
		}},
	} {
		c.outage()
		took := a.session(t, i+1)
		if nothing == 0 {
			nothing = took.own
		}
		t.Logf("%s: %d bytes (goal %d), %d of them the tunnel's own", c.what, took.bytes, c.limit, took.own)
		if took.bytes > c.limit || took.own > nothing+c.own {
			t.Errorf(
				"%s: %d bytes, goal %d; %d of them the tunnel's own, goal %d",
				c.what,
				took.bytes,
				c.limit,
				took.own,
				nothing+c.own,
			)
		}
	}
}

// forget makes and removes so many other objects that the feed does not know any more what the
// receiver has missed.
func (a *apart) forget() {
	revision := a.desired.revision
	for i := range store.MaxTombstones + 10 {
		k := store.Key{Space: "shop", Resource: "configmaps", Namespace: "gone", Name: fmt.Sprint("c", i)}
		a.desired.Apply(revision+1, store.Change{Key: k, Hash: store.HashBody(1, []byte("{}")), Generation: 1})
		a.desired.Apply(revision+2, store.Change{Key: k})
	}
	a.desired.revision += 2
}
