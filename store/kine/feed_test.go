package kine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k3s-io/kine/pkg/server"
)

func eventAt(key string, revision int64) *server.Event {
	return &server.Event{Create: true, KV: &server.KeyValue{Key: key, ModRevision: revision}}
}

func revisionsOf(events []*server.Event) (all []int64) {
	for _, e := range events {
		all = append(all, e.KV.ModRevision)
	}
	return all
}

// A watch gets what is published in its range, from when it began, in order and however late it
// asks.
func TestFeedHandsOverByRange(t *testing.T) {
	f := newFeed(0)
	f.publish([]*server.Event{eventAt("/a/0", 1)})
	a, one, all := f.watch("/a/", "/a0", false), f.watch("/b/1", "", false), f.watch("", "", false)
	f.publish([]*server.Event{eventAt("/a/1", 2), eventAt("/b/1", 3)})
	f.publish([]*server.Event{eventAt("/b/2", 4), eventAt("/a/2", 5)})
	for _, x := range []struct {
		name string
		w    *watch
		want []int64
	}{{"a range", a, []int64{2, 5}}, {"one key", one, []int64{3}}, {"everything", all,
		[]int64{2, 3, 4, 5}}} {
		if n, ok := x.w.next(t.Context()); !ok || !slices.Equal(revisionsOf(n.events), x.want) {
			t.Errorf("%s: %v %v, want %v", x.name, revisionsOf(n.events), ok, x.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, ok := a.next(ctx); ok {
		t.Errorf("nothing was published since, and there is %v", revisionsOf(n.events))
	}
	a.stop()
	f.publish([]*server.Event{eventAt("/a/3", 6)})
	if _, ok := a.next(t.Context()); ok {
		t.Error("a watch that was stopped goes on")
	}
}

// Progress is told once for all that is written within a while, after the events, and only to who
// wants it and has no event that says so.
func TestFeedTellsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(0)
		f.reached(7)
		w, plain := f.watch("/a", "", true), f.watch("/a", "", false)
		told := func(w *watch) (n news, ok bool) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*progressPeriod)
			defer cancel()
			return w.next(ctx)
		}
		if n, ok := told(w); !ok || n.progress != 7 || len(n.events) > 0 {
			t.Fatalf("at first it is told %+v %v, want 7 and nothing else", n, ok)
		}
		if n, ok := told(w); ok {
			t.Errorf("nothing is written, and it is told %+v", n)
		}
		f.publish([]*server.Event{eventAt("/b", 8), eventAt("/a", 9), eventAt("/b", 10)})
		if n, ok := told(w); !ok || n.progress != 0 || !slices.Equal(revisionsOf(n.events),
			[]int64{9}) {
			t.Fatalf("after a write it is told %+v %v, want 9 alone", n, ok)
		}
		f.publish([]*server.Event{eventAt("/b", 11)})
		began := time.Now()
		if n, ok := told(w); !ok || n.progress != 11 || len(n.events) > 0 ||
			time.Since(began) != progressPeriod {
			t.Errorf("after %s it is told %+v %v, want 11 after %s", time.Since(began), n, ok,
				progressPeriod)
		}
		if n, ok := told(w); ok {
			t.Errorf("nothing new is written, and it is told %+v", n)
		}
		f.publish([]*server.Event{eventAt("/a", 12)})
		w.ask()
		if n, ok := told(w); !ok || n.progress != 12 || !slices.Equal(revisionsOf(n.events),
			[]int64{12}) {
			t.Errorf("when it is asked for it is told %+v %v, want 12 with its event", n, ok)
		}
		if n, ok := told(w); ok {
			t.Errorf("it knows of 12, and is told %+v", n)
		}
		plain.ask()
		if n, ok := told(plain); !ok || n.progress != 0 || !slices.Equal(revisionsOf(n.events),
			[]int64{9, 12}) {
			t.Errorf("who does not want progress is told %+v %v", n, ok)
		}
		if n, ok := told(plain); ok {
			t.Errorf("who does not want progress is told %+v", n)
		}
	})
}

// Where what is published has a gap all watches end, and progress never falls behind it.
func TestFeedRestarts(t *testing.T) {
	f := newFeed(0)
	before := f.watch("", "", true)
	f.publish([]*server.Event{eventAt("/a", 5)})
	f.restart(9)
	if n, ok := before.next(t.Context()); ok {
		t.Errorf("a watch goes on over a gap with %+v", n)
	}
	after := f.watch("", "", true)
	f.publish([]*server.Event{eventAt("/a", 10)})
	if n, ok := after.next(t.Context()); !ok || n.progress != 10 ||
		!slices.Equal(revisionsOf(n.events), []int64{10}) {
		t.Errorf("after the gap: %+v %v", n, ok)
	}
}

// A watch that takes nothing is ended before what waits for it takes much memory, and holds up
// nobody.
func TestFeedEndsSlowWatches(t *testing.T) {
	f := newFeed(0)
	slow, quick := f.watch("", "", false), f.watch("", "", false)
	value := make([]byte, 1<<20)
	for i := range int64(maxBehind>>20 + 1) {
		e := eventAt("/a", i+1)
		e.KV.Value = value
		f.publish([]*server.Event{e})
		if n, ok := quick.next(t.Context()); !ok || len(n.events) != 1 {
			t.Fatalf("event %d: %v %v", i+1, revisionsOf(n.events), ok)
		}
	}
	if n, ok := slow.next(t.Context()); ok {
		t.Errorf("%d MiB wait for one watch", len(n.events))
	}
}
