package delta_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// Who asks for a comparison is told when it has ended, and then has what the sender had when it was
// asked: also what the copy had lost, and what changes all the while. Several at a time are one or
// two; one that is asked for before there is a session, or while that begins with a comparison,
// comes after that.
func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rtt = 200 * time.Millisecond
		src, sink, _ := delivered(t, store.NewIncarnation(), 300)
		sink.AcceptNewIncarnation = true
		var done atomic.Int32
		for round, begin := range []struct {
			name  string
			first bool // the session begins with a comparison
			early bool // asked for before that
		}{{"calm", false, false}, {"early", false, true}, {"compared at first", true, false}, {"both", true, true}} {
			if begin.first {
				again := newSource(store.NewIncarnation(), 0)
				all := map[store.Key]string{}
				for k, b := range src.bodies {
					all[k] = string(b)
				}
				again.set(all)
				again.set(map[store.Key]string{key(1): body(1, 100+round)})
				src = again
			}
			done.Store(0)
			recheck := &delta.Recheck{Done: func() { done.Add(1) }}
			if begin.early {
				recheck.Ask()
			}
			s := connectAs(
				t,
				src.Feed,
				sink,
				delta.Up(delta.LAN),
				delta.ReceiveOptions{Recheck: recheck},
				pipe.Options{Latency: rtt / 2},
			)
			if !begin.early {
				recheck.Ask() // before it has begun
			}
			time.Sleep(20 * rtt)
			wantEqual(t, src, sink)
			if n := done.Load(); n != 1 {
				t.Fatalf("%s: told %d times that one comparison has ended", begin.name, n)
			}
			sink.Lose(key(7))
			src.set(map[store.Key]string{key(2): body(2, 200+round)})
			asked := time.Now()
			recheck.Ask()
			src.set(map[store.Key]string{key(3): body(3, 200+round)})
			recheck.Ask()
			for done.Load() == 1 {
				time.Sleep(rtt / 10)
			}
			if took := time.Since(asked); took < 2*rtt {
				t.Errorf("%s: a comparison ended after %s, less than its two questions take", begin.name, took)
			}
			if _, known, _ := sink.Get(key(7)); !known {
				t.Errorf("%s: what the copy had lost is not there after a comparison", begin.name)
			}
			time.Sleep(20 * rtt)
			if n := done.Load(); n > 3 {
				t.Errorf("%s: told %d times of two more comparisons", begin.name, n)
			}
			wantEqual(t, src, sink)
			before := done.Load()
			s.end()
			recheck.Ask()
			time.Sleep(time.Second)
			if done.Load() != before {
				t.Errorf("%s: a comparison has ended without a session", begin.name)
			}
		}
	})
}
