package uplink

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// change makes a change.
func (c *center) change() {
	c.revision++
	k := storetest.Key(int(c.revision))
	c.feed.Apply(
		c.revision,
		store.Change{Key: k, Hash: store.HashBody(1, []byte(`{"name":"`+k.Name+`"}`)), Generation: 1},
	)
}

// After a long outage the session goes on over a fresh connection, even when the old one is heard
// again first: what waits on that is sent again late.
func TestSessionIsReplacedAfterALongSilence(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	var cut atomic.Bool
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	dialled := make(chan struct{}, 1000)
	s := c.site(t, func(cfg *Config) {
		cfg.OnDial = func(Route) {
			if cut.Load() { // until the old connection was heard again
				dialled <- struct{}{}
				<-release
			}
		}
	})
	t.Cleanup(let)
	within(t, "a session over QUIC", func() bool { return c.transport() == "quic" })
	c.place(t, s)
	sessions := c.count()
	cut.Store(true)
	c.relay.Set(tunneltest.Faults{Cut: true})
	began := time.Now()
	c.change()
	s.reported.Apply(
		1,
		store.Change{Key: storetest.Key(1), Hash: store.Hash{1}, Generation: 1},
	) // so that the site notices soon
	<-dialled
	time.Sleep(time.Until(began.Add(longGap + time.Second))) // that is how long the outage is
	c.relay.Set(tunneltest.Faults{})
	within(
		t,
		"the change over the old connection",
		func() bool { return s.desired.Position() == c.feed.Head() },
	)
	time.Sleep(2 * lookEvery) // the site has looked; the connection is not given up for that
	let()
	within(t, "a session over another connection", func() bool { return c.count() > sessions })
}
