package kine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/k3s-io/kine/pkg/server"
)

func eventAt(key string, revision int64) *server.Event {
	return &server.Event{Create: true, KV: &server.KeyValue{Key: key, ModRevision: revision}}
}

func revisionsOf(events server.Events) (all []int64) {
	for _, e := range events {
		all = append(all, e.KV.ModRevision)
	}
	return all
}

// A watch gets what is published in its range, from when it began, in order and however late it asks.
func TestFeedHandsOverByRange(t *testing.T) {
	f := newFeed()
	f.publish(server.Events{eventAt("/a/0", 1)})
	a, one, all := f.watch("/a/", "/a0"), f.watch("/b/1", ""), f.watch("", "")
	f.publish(server.Events{eventAt("/a/1", 2), eventAt("/b/1", 3)})
	f.publish(server.Events{eventAt("/b/2", 4), eventAt("/a/2", 5)})
	for _, x := range []struct {
		name string
		w    *watch
		want []int64
	}{{"a range", a, []int64{2, 5}}, {"one key", one, []int64{3}}, {"everything", all, []int64{2, 3, 4, 5}}} {
		if events, ok := x.w.next(t.Context()); !ok || !slices.Equal(revisionsOf(events), x.want) {
			t.Errorf("%s: %v %v, want %v", x.name, revisionsOf(events), ok, x.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events, ok := a.next(ctx); ok {
		t.Errorf("nothing was published since, and there is %v", revisionsOf(events))
	}
	a.stop()
	f.publish(server.Events{eventAt("/a/3", 6)})
	if _, ok := a.next(t.Context()); ok {
		t.Error("a watch that was stopped goes on")
	}
}

// Who waits for a revision waits until each watch was handed all events up to it, for no later one, and for nobody who left.
func TestFeedWaitsForWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		w, other := f.watch("/a", ""), f.watch("/b", "")
		waits := func(revision int64) (ended func() bool) {
			done := make(chan struct{})
			go func() {
				f.waitFor(revision)
				close(done)
			}()
			return func() bool {
				synctest.Wait()
				select {
				case <-done:
					return true
				default:
					return false
				}
			}
		}
		f.publish(server.Events{eventAt("/a", 5), eventAt("/b", 6)})
		if before, five, six := waits(4), waits(5), waits(6); !before() || five() || six() {
			t.Fatal("who waits for 4 has to wait, or who waits for 5 or 6 has not")
		} else {
			w.next(t.Context()) // taken, and not yet passed on
			if five() {
				t.Error("5 is not handed over while its watch has it")
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			w.next(gone) // asks for more: 5 was passed on
			if !five() || six() {
				t.Error("5 was handed over, 6 was not")
			}
			other.stop()
			if !six() {
				t.Error("6 is waited for although who wanted it left")
			}
		}
	})
}

// A watch that takes nothing is ended before what waits for it takes much memory, and holds up nobody.
func TestFeedEndsSlowWatches(t *testing.T) {
	f := newFeed()
	slow, quick := f.watch("", ""), f.watch("", "")
	value := make([]byte, 1<<20)
	for i := range int64(maxBehind>>20 + 1) {
		e := eventAt("/a", i+1)
		e.KV.Value = value
		f.publish(server.Events{e})
		if events, ok := quick.next(t.Context()); !ok || len(events) != 1 {
			t.Fatalf("event %d: %v %v", i+1, revisionsOf(events), ok)
		}
	}
	if events, ok := slow.next(t.Context()); ok {
		t.Errorf("%d MiB wait for one watch", len(events))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	quick.next(gone)
	f.waitFor(maxBehind)
}
