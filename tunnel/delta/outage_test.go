package delta_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// However long the link is down and however often things change meanwhile, what crosses afterwards
// is each changed key once: the copy does not catch up with history, it catches up with the
// present.
func TestLongOutages(t *testing.T) {
	const n = 2000
	for _, days := range []int{1, 30, 365} {
		t.Run(fmt.Sprint(days, " days"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(days), 2))
				src, sink := newSource(store.NewIncarnation(), 7), storetest.NewMemory()
				all := map[store.Key]string{}
				for i := range n {
					all[key(i)] = body(i, 0)
				}
				src.set(all)
				s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: 300 * time.Millisecond})
				time.Sleep(time.Minute)
				wantEqual(t, src, sink)
				s.end()

				// Every hour ten of a hundred keys change, come or go.
				touched := map[store.Key]bool{}
				for range days * 24 {
					set := map[store.Key]string{}
					for range 10 {
						i := n - 50 + random.IntN(100)
						set[key(i)] = body(i, random.IntN(1000))
						if random.IntN(3) == 0 {
							set[key(i)] = ""
						}
						touched[key(i)] = true
					}
					src.set(set)
					time.Sleep(time.Hour)
				}
				crossed := 0
				sink.OnCommit = func(b store.Batch) { crossed += len(b.Entries) }
				s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: 300 * time.Millisecond})
				healed := time.Now()
				for sink.Position() != src.Head() {
					if time.Since(healed) > 5*time.Second {
						t.Fatalf("not caught up %s after the link is back", time.Since(healed))
					}
					time.Sleep(10 * time.Millisecond)
				}
				wantEqual(t, src, sink)
				if crossed > len(touched) {
					t.Errorf("%d entries crossed for %d keys that had changed", crossed, len(touched))
				}
				// Again, with nothing changed: nothing crosses.
				s.end()
				crossed = 0
				s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: 300 * time.Millisecond})
				time.Sleep(time.Minute)
				if s.end(); crossed != 0 {
					t.Errorf("%d entries crossed although nothing had changed", crossed)
				}
			})
		})
	}
}
