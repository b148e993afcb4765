package delta_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// ordered is a copy that remembers the order in which keys came.
type ordered struct {
	*storetest.Memory
	mu   sync.Mutex
	keys []store.Key
	full bool // it takes rules, and no objects
}

func (o *ordered) Commit(ctx context.Context, b store.Batch) error {
	o.mu.Lock()
	for _, e := range b.Entries {
		o.keys = append(o.keys, e.Key)
	}
	o.mu.Unlock()
	object := func(e store.Entry) bool { return e.Key.Class() != store.ClassRule }
	if o.full && slices.ContainsFunc(b.Entries, object) {
		return errors.New("the disk is full")
	}
	return o.Memory.Commit(ctx, b)
}

// A receiver that was away gets what says how objects are rendered before older objects, however
// many these are, and is not taken further by it than it is.
func TestRulesComeBeforeOlderObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 10), &ordered{Memory: storetest.NewMemory()}
		src.set(map[store.Key]string{key(0): body(0, 1)})
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		s.end()
		sink.keys = nil
		for i := range 2000 {
			src.set(map[store.Key]string{key(i): body(i, 2)})
		}
		rule := store.Key{Space: "shop", Group: store.RulesGroup, Resource: store.RulesResource, Name: "sites"}
		src.set(map[store.Key]string{rule: `{"rule":1}`, store.ValuesKey: `{"name":"one"}`})
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: time.Millisecond})
		time.Sleep(5 * time.Second)
		wantEqual(t, src, sink.Memory)
		if len(sink.keys) < 2002 || sink.keys[0].Class() != store.ClassRule || sink.keys[1].Class() != store.ClassRule {
			t.Fatalf("%d keys came, first %s", len(sink.keys), sink.keys[0])
		}
		s.end()

		// Cut right behind the rules, nothing is taken for received.
		for i := range 2000 {
			src.set(map[store.Key]string{key(i): body(i, 3)})
		}
		src.set(map[store.Key]string{rule: `{"rule":2}`})
		sink.full = true
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: 10 * time.Millisecond})
		time.Sleep(5 * time.Second)
		s.end()
		sink.full = false
		if at := sink.Position(); at == src.Head() {
			t.Errorf("the receiver is at %s without the objects", at)
		}
		s = connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: time.Millisecond})
		time.Sleep(5 * time.Second)
		wantEqual(t, src, sink.Memory)
		src.set(map[store.Key]string{rule: ""})
		time.Sleep(time.Second)
		wantEqual(t, src, sink.Memory)
		if left := src.Rules(0); len(left) != 1 || left[0].Key != store.ValuesKey {
			t.Errorf("the feed has the rules %v", left)
		}
		s.end()
	})
}
