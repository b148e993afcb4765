package sessions

import (
	"context"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

// confirmation is what Config.BarrierReached was told.
type confirmation struct {
	target   string
	revision int64
}

// A target confirms what it has durably stored, not before, and after its reports were compared;
// one that has no session when it comes back, in whichever session; and what is asked for meanwhile
// after that.
func TestConfirm(t *testing.T) {
	c := newCenter(t)
	c.confirmed = make(chan confirmation, 10)
	c.open()
	s := c.joined("paris")
	k := storetest.Key(99)
	reported := store.NewFeed(
		store.NewIncarnation(),
		0,
		func(_ context.Context, k store.Key) ([]byte, int64, error) { return body(k), 1, nil },
	)
	reported.Apply(1, store.Change{Key: k, Hash: store.HashBody(1, body(k)), Generation: 1})
	connect := func() *link {
		l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Reported = reported })
		got(t, l.welcome, "a welcome")
		return l
	}
	has := func() bool { return len(c.inbox.Live()) == 1 }

	before := connect()
	within(t, "the report", has)
	c.place(0) // revision 2
	c.sessions.RequestBarrier("paris", 3)
	first := connect() // nothing of this session's own is lost below
	got(t, before.ended, "the end of the session before it")
	within(t, "the object", func() bool { return len(first.desired.Live()) == 1 })
	select {
	case is := <-c.confirmed:
		t.Fatalf("confirmed %+v before the target has it", is)
	case <-time.After(300 * time.Millisecond):
	}
	c.inbox.Lose(k)
	c.place(1)
	if is := got(t, c.confirmed, "the confirmation"); is != (confirmation{"paris", 3}) || !has() {
		t.Errorf("confirmed %+v, and all reports are there: %t", is, has())
	}

	c.sessions.RequestBarrier("paris", 3) // it has that already
	if is := got(t, c.confirmed, "what it has already"); is != (confirmation{"paris", 3}) {
		t.Errorf("confirmed %+v", is)
	}

	c.sessions.RequestBarrier("paris", 4)
	second := connect()
	got(t, first.ended, "the end of the first session")
	within(t, "the objects", func() bool { return len(second.desired.Live()) == 2 })
	c.place(2)
	if is := got(t, c.confirmed, "the confirmation of the next session"); is != (confirmation{"paris", 4}) {
		t.Errorf("confirmed %+v", is)
	}
	select {
	case is := <-c.confirmed:
		t.Errorf("confirmed %+v, which nobody has asked for", is)
	case <-time.After(300 * time.Millisecond):
	}
	if left := len(c.sessions.barriers); left > 0 {
		t.Errorf("%d targets are still to confirm something", left)
	}
}
