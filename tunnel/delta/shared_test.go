package delta_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// What is placed on many targets is rendered and compressed once, and later versions are patches,
// although the targets have other things besides it.
func TestBodiesAreMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const targets = 40
		all := newSource(store.NewIncarnation(), 0)
		var rendered atomic.Int64
		body := func(ctx context.Context, k store.Key) ([]byte, int64, error) {
			rendered.Add(1)
			return all.Body(ctx, k)
		}
		shared := delta.NewShared()
		var feeds []*store.Feed
		var sinks []*storetest.Memory
		var sessions []*session
		for range targets {
			feed, sink := store.NewFeed(store.NewIncarnation(), 0, body), storetest.NewMemory()
			o := delta.Down(delta.LAN)
			o.Shared = shared
			feeds, sinks = append(feeds, feed), append(sinks, sink)
			sessions = append(sessions, connect(t, feed, sink, o, pipe.Options{Latency: time.Millisecond}))
		}
		revision := int64(0)
		place := func(i, version int, on ...*store.Feed) {
			revision++
			text := strings.Replace(body1(i), "VERSION", fmt.Sprint(version), 1)
			all.set(map[store.Key]string{key(i): text})
			for _, f := range on {
				f.Apply(revision, store.Change{Key: key(i), Generation: 1, Hash: store.HashBody(1, []byte(text))})
			}
			time.Sleep(time.Second)
		}
		for i, f := range feeds { // another history on each
			for n := range i {
				place(1000+100*i+n, 1, f)
			}
		}
		rendered.Store(0)
		place(1, 1, feeds...)
		before := sessions[7].child.Stats()
		place(1, 2, feeds...)
		after := sessions[7].child.Stats()
		if n := rendered.Load(); n != 2 {
			t.Errorf("%d bodies were rendered for 2 changes on %d targets", n, targets)
		}
		if n := after.ReceivedBytes - before.ReceivedBytes; n > 60 {
			t.Errorf("the second version took %d bytes, a patch takes less", n)
		}
		for i, sink := range sinks {
			e, ok, _ := sink.Get(key(1))
			if !ok || string(e.Body) != strings.Replace(body1(1), "VERSION", "2", 1) || sink.Root() != feeds[i].Root() {
				t.Fatalf("target %d has %q", i, e.Body)
			}
		}
		for _, s := range sessions {
			s.end()
		}
	})
}

func body1(i int) string {
	return fmt.Sprintf(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web-%d",`+
			`"annotations":{"some":"%x"}},"data":{"version":"VERSION"}}`,
		i,
		[]byte(fmt.Sprint("content ", i, strings.Repeat("x", i%7))),
	)
}

// A feed whose bodies are not those of its hashes is sent all the same, and harms nobody: neither
// those that have the body of that hash, nor itself when a later version is a patch.
func TestSharedBodiesOfAnotherHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, odd, second := body1(1), strings.ToUpper(body1(1)), strings.Replace(body1(1), "VERSION", "2", 1)
		shared := delta.NewShared()
		var later atomic.Bool
		target := func(now string) (*store.Feed, *storetest.Memory, *session) {
			feed := store.NewFeed(store.NewIncarnation(), 0, func(context.Context, store.Key) ([]byte, int64, error) {
				if later.Load() {
					return []byte(second), 1, nil
				}
				return []byte(now), 1, nil
			})
			feed.Apply(1, store.Change{Key: key(1), Generation: 1, Hash: store.HashBody(1, []byte(first))})
			sink, o := storetest.NewMemory(), delta.Down(delta.LAN)
			o.Shared = shared
			s := connect(t, feed, sink, o, pipe.Options{})
			time.Sleep(time.Second)
			if e, ok, _ := sink.Get(key(1)); !ok || string(e.Body) != now {
				t.Errorf("got %q, want %q", e.Body, now)
			}
			return feed, sink, s
		}
		oddFeed, oddSink, oddSession := target(odd)
		feed, sink, session := target(first)
		later.Store(true)
		for _, f := range []*store.Feed{feed, oddFeed} {
			f.Apply(2, store.Change{Key: key(1), Generation: 1, Hash: store.HashBody(1, []byte(second))})
		}
		time.Sleep(time.Second)
		for _, s := range []*storetest.Memory{sink, oddSink} {
			if e, ok, _ := s.Get(key(1)); !ok || string(e.Body) != second {
				t.Errorf("got %q, want %q", e.Body, second)
			}
		}
		session.end()
		oddSession.end()
	})
}
