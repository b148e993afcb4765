package delta_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// lineage makes sources whose data is that of one center, restored and started again as a test
// says.
type lineage struct {
	incarnation store.Incarnation
	eras        store.Eras
}

// run is a start of the center on this data, at a revision, with objects; the lineage is that of a
// backup taken from then on.
func (l lineage) run(revision int64, objects map[store.Key]string) (*source, lineage) {
	l.eras = append(l.eras[:len(l.eras):len(l.eras)], store.EraStart{Era: store.NewEra(), From: revision})
	s := newSource(l.incarnation, revision)
	s.In(l.eras)
	s.revision = revision - 1
	if len(objects) > 0 {
		s.set(objects)
	}
	return s, l
}

// holding connects a sink to a source that it must hold, until what Send learns of that is the same
// twice.
func holding(t *testing.T, src *source, sink *storetest.Memory) (delta.Held, *session) {
	t.Helper()
	held := make(chan delta.Held, 10)
	o := delta.Down(delta.LAN)
	o.OnHeld = func(h delta.Held) { held <- h }
	before, at := sink.Live(), sink.Position()
	s := connect(t, src.Feed, sink, o, pipe.Options{Latency: time.Millisecond})
	time.Sleep(time.Second)
	if !maps.Equal(before, sink.Live()) || sink.Position() != at {
		t.Fatal("the copy has changed")
	}
	select {
	case h := <-held:
		return h, s
	default:
		t.Fatal("the sender was not held")
		return delta.Held{}, nil
	}
}

func objects(n, version int) map[store.Key]string {
	out := map[store.Key]string{}
	for i := range n {
		out[key(i)] = body(i, version)
	}
	return out
}

// Whatever the parent's data is, if it is not what the copy came from the copy stays, and the
// sender learns what obeying would do.
func TestOtherDataIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := lineage{incarnation: store.NewIncarnation()}
		src, backup := first.run(10, objects(20, 1))
		sink := storetest.NewMemory()
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		src, _ = backup.run(10, objects(20, 1)) // the center starts once more
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		for i := range 5 { // and goes on
			src.set(map[store.Key]string{key(i): body(i, 2), key(100 + i): body(i, 1)})
		}
		time.Sleep(time.Second)
		wantEqual(t, src, sink)
		s.end()

		older, _ := backup.run(10, objects(20, 1))
		passed, _ := backup.run(10, objects(20, 1))
		for range 50 {
			passed.set(map[store.Key]string{key(19): body(19, int(passed.revision))})
		}
		wiped, _ := lineage{incarnation: store.NewIncarnation()}.run(1, nil)
		for _, c := range []struct {
			name                string
			source              *source
			delete, change, add int
		}{
			{"restored", older, 5, 5, 0},
			{"restored, and past the copy's revision", passed, 5, 6, 0},
			{"wiped", wiped, 25, 0, 0},
		} {
			h, s := holding(t, c.source, sink)
			if h.Delete != c.delete || h.Change != c.change || h.Add != c.add || h.Objects != 25 ||
				h.At != sink.Position() ||
				len(h.First) != min(c.delete, delta.HeldKeys) {
				t.Errorf("%s: %+v", c.name, h)
			}
			// Both were running when they were stopped. The sender may hear of it from its context
			// or from the receiver, and the receiver says why it held unless its own context ends
			// first.
			if sent, got := s.end(); sent == nil ||
				!errors.Is(got, context.Canceled) && !errors.Is(got, store.ErrRegressed) {
				t.Errorf("%s: Send: %v; Receive: %v", c.name, sent, got)
			}
		}

		// Accepted, the copy becomes what the center has, by the differences alone.
		if err := sink.Accept(passed.Head()); err != nil {
			t.Fatal(err)
		}
		s = connect(t, passed.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		wantEqual(t, passed, sink)
		s.end()
		holding(t, older, sink) // and only that center's
	})
}

// A copy that has not got beyond the backup is of the same history, whatever happened to the center
// since.
func TestSharedHistoryIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := lineage{incarnation: store.NewIncarnation()}.run(10, objects(20, 1))
		sink := storetest.NewMemory()
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		backup := lineage{incarnation: src.Head().Incarnation, eras: store.Eras{{Era: src.Head().Era, From: 10}}}
		restored, _ := backup.run(30, objects(25, 3)) // the backup was taken at revision 30, while src went on
		s = connect(t, restored.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		wantEqual(t, restored, sink)
		s.end()
	})
}

// A center whose data is another but that wants what is here loses nothing for anybody: it is
// followed, at once or as soon as it does.
func TestEqualContentIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := lineage{incarnation: store.NewIncarnation()}.run(100, objects(20, 1))
		sink := storetest.NewMemory()
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		equal, _ := lineage{incarnation: store.NewIncarnation()}.run(3, objects(20, 1))
		s = connect(t, equal.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		equal.set(map[store.Key]string{key(3): "", key(4): body(4, 2)})
		time.Sleep(time.Second)
		wantEqual(t, equal, sink)
		s.end()

		late, _ := lineage{incarnation: equal.Head().Incarnation}.run(1, nil)
		_, s = holding(t, late, sink)
		want := objects(20, 1)
		delete(want, key(3))
		want[key(4)] = body(4, 2)
		late.set(want)
		time.Sleep(time.Minute)
		if got := <-s.got; !errors.Is(got, delta.ErrReleased) {
			t.Errorf("Receive: %v", got)
		}
		s.stop()
		s = connect(t, late.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		wantEqual(t, late, sink)
		s.end()
	})
}

// A copy that was accepted for one center and cut off before it was equal does not go on with yet
// another one.
func TestAcceptIsForOneCenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, backup := lineage{incarnation: store.NewIncarnation()}.run(100, objects(20, 1))
		sink := storetest.NewMemory()
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		accepted, _ := backup.run(50, objects(10, 2))
		if err := sink.Accept(accepted.Head()); err != nil {
			t.Fatal(err)
		}
		other, _ := lineage{incarnation: backup.incarnation, eras: backup.eras}.run(50, objects(5, 3))
		_, s = holding(t, other, sink)
		s.end()
	})
}
