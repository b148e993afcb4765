package delta_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// A body that cannot be had holds up nothing else, and is sent by the same session as soon as it
// can.
func TestBodyThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 7), storetest.NewMemory()
		var broken atomic.Bool
		whole := src.Feed
		src.Feed = store.NewFeed(
			src.Head().Incarnation,
			7,
			func(ctx context.Context, k store.Key) ([]byte, int64, error) {
				if k == key(3) && broken.Load() {
					return nil, 0, errors.New("the space does not answer")
				}
				return whole.Body(ctx, k)
			},
		)
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		broken.Store(true)
		for i := range 6 {
			src.set(map[store.Key]string{key(i): body(i, 1)})
		}
		time.Sleep(10 * time.Second)
		if _, there, _ := sink.Get(key(3)); there || len(sink.Live()) != 5 || sink.Position() != src.Head() {
			t.Fatalf("%d of 5 objects arrived, the position is %s of %s", len(sink.Live()), sink.Position(), src.Head())
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		wantEqual(t, src, sink)

		// What is deleted while it is owed is owed no more.
		broken.Store(true)
		src.set(map[store.Key]string{key(3): body(3, 2)})
		time.Sleep(time.Second)
		src.set(map[store.Key]string{key(3): ""})
		time.Sleep(5 * time.Minute)
		wantEqual(t, src, sink)
		s.end()
	})
}
