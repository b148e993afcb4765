package delta_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/wire"
)

// delivered returns a source with n objects and the copy that a receiver has of them; all are their
// bodies.
func delivered(
	t *testing.T,
	incarnation store.Incarnation,
	n int,
) (src *source, sink *storetest.Memory, all map[store.Key]string) {
	t.Helper()
	src, sink, all = newSource(incarnation, 0), storetest.NewMemory(), map[store.Key]string{}
	for i := range n {
		all[key(i)] = body(i, 1)
	}
	src.set(all)
	s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
	time.Sleep(time.Second)
	wantEqual(t, src, sink)
	s.end()
	return src, sink, all
}

// After a restart of the sender the feed has no history: what is equal is not sent again, what is
// gone becomes a tombstone.
func TestRestartedSenderCompares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		incarnation := store.NewIncarnation()
		src, sink, all := delivered(t, incarnation, 3000)
		for _, c := range []struct {
			name    string
			changes map[store.Key]string
			atMost  uint64
		}{
			{"equal", map[store.Key]string{}, 200},
			{"ten differ", differ(10), 2 << 10},
		} {
			again := newSource(incarnation, src.revision+5)
			maps.Copy(all, c.changes)
			again.set(all)
			s := connect(t, again.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
			time.Sleep(time.Second)
			wantEqual(t, again, sink)
			st := s.child.Stats()
			if bytes := st.SentBytes + st.ReceivedBytes; bytes > c.atMost {
				t.Errorf("%s: %d bytes, at most %d", c.name, bytes, c.atMost)
			}
			s.end()
			src = again
		}
		if e, _, _ := sink.Get(key(0)); !e.Tombstone {
			t.Error("what was deleted meanwhile is not a tombstone")
		}
	})
}

func differ(n int) map[store.Key]string {
	out := map[store.Key]string{}
	for i := range n {
		out[key(i)] = body(i, 99)
	}
	out[key(0)] = ""
	return out
}

// A new process that had found all as its receiver has it, and then changed something, knows what
// the receiver lacks without asking. One that found something else asks.
func TestRestartedSenderRecalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, sink, all := delivered(t, store.NewIncarnation(), 3000)
		sink.AcceptNewIncarnation = true
		for _, c := range []struct {
			name            string
			meanwhile       map[store.Key]string
			atLeast, atMost uint64
		}{
			{"nothing", nil, 0, 300},
			{"something", map[store.Key]string{key(77): body(77, 5)}, 400, 900},
		} {
			maps.Copy(all, c.meanwhile)
			again := newSource(store.NewIncarnation(), 0)
			again.WithHistory(8)
			again.set(all)
			again.set(map[store.Key]string{key(2): body(2, 9)})
			again.set(map[store.Key]string{key(1): ""})
			s := connect(t, again.Feed, sink, delta.Up(delta.LAN), pipe.Options{})
			time.Sleep(time.Second)
			wantEqual(t, again, sink)
			st := s.child.Stats()
			if bytes := st.SentBytes + st.ReceivedBytes; bytes < c.atLeast || bytes > c.atMost {
				t.Errorf("%s changed while it was down: %d bytes, want %d to %d", c.name, bytes, c.atLeast, c.atMost)
			}
			s.end()
			all[key(2)] = body(2, 9)
			delete(all, key(1))
		}
	})
}

// Reports of a new process are compared, and what it does not have any more is taken back.
func TestNewIncarnationAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := storetest.NewMemory()
		sink.AcceptNewIncarnation = true
		for round := range 3 {
			src := newSource(store.NewIncarnation(), 0)
			for i := range 100 {
				src.set(map[store.Key]string{key(i + 10*round): body(i, 1)})
			}
			s := connect(t, src.Feed, sink, delta.Up(delta.LAN), pipe.Options{CutAfter: 900})
			time.Sleep(time.Second)
			s.end()
			s = connect(t, src.Feed, sink, delta.Up(delta.LAN), pipe.Options{})
			time.Sleep(time.Minute)
			wantEqual(t, src, sink)
			s.end()
		}
	})
}

// A copy that lost something without knowing is noticed and mended.
func TestDamagedCopyIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		src.set(differ(50))
		src.set(map[store.Key]string{key(2000): body(1, 1)})
		src.set(map[store.Key]string{key(2001): body(1, 1)})
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		for _, move := range []bool{false, true} {
			sink.Lose(key(7))
			if move {
				src.set(map[store.Key]string{key(1000): body(1, 1)})
			}
			s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
			time.Sleep(time.Second)
			wantEqual(t, src, sink)
			s.end()
		}
	})
}

// A revision that gets a second step after the receiver had it is looked at again, without a
// comparison.
func TestSecondStepOfARevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		for i := range 3000 {
			src.set(map[store.Key]string{key(i): body(i, 1)})
		}
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		src.revision--
		src.set(map[store.Key]string{key(5): body(5, 2)})
		src.set(map[store.Key]string{key(6): body(6, 2)})
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		wantEqual(t, src, sink)
		st := s.child.Stats()
		if n := st.SentBytes + st.ReceivedBytes; n > 900 {
			t.Errorf("%d bytes, at most 900: less than the digests of a comparison", n)
		}
		s.end()
	})
}

// A patch is never put on another base than the one that it was made for.
func TestPatchNeedsItsBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		src.set(map[store.Key]string{key(1): body(1, 1)})
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		sink.Lose(key(1))
		if err := sink.Commit(t.Context(),
			store.Batch{Entries: []store.Entry{{Key: key(1), Revision: 1, Hash: store.Hash{1}, Body: []byte(body(1, 7))}},
				Through: sink.Position()}); err != nil {
			t.Fatal(err)
		}
		src.set(map[store.Key]string{key(1): body(1, 2)})
		time.Sleep(time.Second)
		select {
		case err := <-s.got:
			s.got <- err
		default:
			t.Error("the patch was taken")
		}
		s.end()
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		wantEqual(t, src, sink)
		s.end()
	})
}

// How a key is removed crosses with its tombstone, by following the feed and by a comparison while
// the feed still knows; a sender that has forgotten it leaves the decision to the object's own
// policy.
func TestRemovalCrosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		incarnation := store.NewIncarnation()
		src, sink := newSource(incarnation, 0), storetest.NewMemory()
		all := map[store.Key]string{}
		for i := range 8 {
			all[key(i)] = body(i, 1)
		}
		src.set(all)
		remove := func(i int, how store.Removal) {
			src.revision++
			src.Apply(src.revision, store.Change{Key: key(i), Removal: how})
		}
		want := func(i int, how store.Removal) {
			t.Helper()
			if e, ok, _ := sink.Get(key(i)); !ok || !e.Tombstone || e.Removal != how {
				t.Errorf("key %d: tombstone %t that removes by %s, want %s", i, e.Tombstone, e.Removal, how)
			}
		}
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		for i := range 4 {
			remove(i, store.Removal(i))
		}
		time.Sleep(time.Second)
		for i := range 4 {
			want(i, store.Removal(i))
		}
		remove(0, store.RemoveOrphan) // decided otherwise before it was carried out
		time.Sleep(time.Second)
		want(0, store.RemoveOrphan)
		s.end()
		remove(4, store.RemoveOrphan)
		sink.Lose(key(7)) // makes the sender compare
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		want(4, store.RemoveOrphan)
		s.end()

		again := newSource(incarnation, src.revision+5)
		again.set(map[store.Key]string{key(6): body(6, 1), key(7): body(7, 1)})
		s = connect(t, again.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		want(5, store.RemoveByPolicy)
		s.end()
	})
}

// alike returns another version of an object that a short digest does not tell from the first one.
func alike(t *testing.T, i int) string {
	t.Helper()
	digest := func(version int) (d store.Digest) {
		d.Add(key(i), store.HashBody(1, []byte(body(i, version))))
		return wire.Short(d)
	}
	for version, first := 2, digest(1); version < 1<<21; version++ {
		if digest(version) == first {
			return body(i, version)
		}
	}
	t.Fatal("no version is alike")
	return ""
}

// Two copies that differ where short digests are equal are compared again by whole ones, also when
// they differ elsewhere, too.
func TestWhatLooksAlikeIsFound(t *testing.T) {
	hidden := alike(t, 7)
	for name, changes := range map[string]map[store.Key]string{
		"nothing else differs": {key(7): hidden},
		"another differs":      {key(7): hidden, key(8): body(8, 5)},
		"another is gone":      {key(7): hidden, key(9): ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				incarnation := store.NewIncarnation()
				src, sink, all := delivered(t, incarnation, 1000)
				again := newSource(incarnation, src.revision+5)
				maps.Copy(all, changes)
				again.set(all)
				s := connect(t, again.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: 10 * time.Millisecond})
				// The feed goes on while it is asked, so that its digest in the end is another one than
				// at the beginning.
				time.Sleep(20 * time.Millisecond)
				again.set(map[store.Key]string{key(5000): body(1, 1)})
				time.Sleep(time.Second)
				wantEqual(t, again, sink)
				s.end()
			})
		})
	}
}
