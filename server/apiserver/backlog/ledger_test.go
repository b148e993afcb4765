package backlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// reader opens a watch and notes how it was ended.
type reader struct {
	*Watch
	ended, forced bool
}

func open(t *testing.T, l *Ledger, space string) *reader {
	t.Helper()
	r := &reader{}
	w, err := l.Open(space, 1000, func(force bool) { r.ended, r.forced = true, force })
	if err != nil {
		t.Fatal(err)
	}
	r.Watch = w
	return r
}

func hold(r *reader, key string, size int64) *Event {
	return r.Hold(key, size, func() any { return key })
}

func TestWatchesAreCounted(t *testing.T) {
	l := New(1 << 20)
	var all []*Watch
	for range 3 {
		w, err := l.Open("a", 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	if _, err := l.Open("a", 3, nil); !errors.Is(err, ErrTooMany) {
		t.Errorf("a fourth one: %v", err)
	}
	b, err := l.Open("b", 3, nil)
	if err != nil {
		t.Errorf("of another space: %v", err)
	}
	all[0].Close()
	all[0].Close()
	if all[0], err = l.Open("a", 3, nil); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	for _, w := range append(all, b) {
		w.Close()
	}
	if len(l.spaces) != 0 {
		t.Errorf("%d spaces are left", len(l.spaces))
	}
}

// TestSharedEventsCountOnce: a thousand watches that have the same to send need no more than one.
func TestSharedEventsCountOnce(t *testing.T) {
	l := New(10 << 20)
	var all []*reader
	for range 1000 {
		r := open(t, l, "a")
		if e := hold(r, "x", 3<<20); e == nil || e.Value != "x" {
			t.Fatal("ended")
		}
		all = append(all, r)
	}
	if n := all[0].space.bytes; n != cost(3<<20) {
		t.Errorf("%d bytes", n)
	}
	for _, r := range all {
		r.Close()
	}
	if n := all[0].space.bytes; n != 0 || len(all[0].space.events) != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// TestStuckReadersGoFirst: the space that needs more ends those that take nothing, those that keep
// buffers, and then the one that asks; never those of another space.
func TestStuckReadersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(4 * cost(1<<20))
		other := open(t, l, "other")
		hold(other, "o", 1<<20)
		stuck, idle, busy := open(t, l, "a"), open(t, l, "a"), open(t, l, "a")
		stuck.Sending(hold(stuck, "0", 1<<20))
		hold(stuck, "1", 1<<20)
		e := hold(idle, "2", 1<<20)
		idle.Encoded(e, 1<<20)
		idle.Sent(e)
		time.Sleep(2 * time.Second)
		hold(busy, "3", 1<<20)
		if stuck.ended || idle.ended {
			t.Error("ended although there is room")
		}
		hold(busy, "4", 1<<20)
		if !stuck.ended || !stuck.forced || idle.ended || busy.ended {
			t.Errorf("over the bytes: stuck %v idle %v busy %v", stuck.ended, idle.ended, busy.ended)
		}
		if hold(stuck, "5", 1) != nil {
			t.Error("a watch that has ended takes more")
		}
		hold(busy, "6", 1<<20) // room that the idle one gives
		if !idle.ended || idle.forced || busy.ended {
			t.Errorf("further over: idle %v busy %v", idle.ended, busy.ended)
		}
		for i := range 10 {
			hold(busy, fmt.Sprint("more", i), 1<<20)
		}
		if !busy.ended || busy.space.bytes > 2*l.bytes || other.ended {
			t.Errorf("far over: busy %v, %d of %d bytes; other %v", busy.ended, busy.space.bytes, l.bytes, other.ended)
		}
		if n := l.Ended(); n[SlowReader] != 1 || n[IdleBuffers] != 1 || n[NoRoom] != 1 || l.Len() != 4 {
			t.Errorf("ended %v, open %d", n, l.Len())
		}
		for _, r := range []*reader{stuck, idle, busy, other} {
			r.Close()
		}
		if busy.space.bytes != 0 || busy.space.leaving != 0 {
			t.Errorf("%d bytes and %d leaving are left", busy.space.bytes, busy.space.leaving)
		}
	})
}

// TestUnkeep: what a watch no longer keeps is there for others, but not what it has encoded.
func TestUnkeep(t *testing.T) {
	r := open(t, New(10<<20), "a")
	r.Keep(4 << 20)
	r.Unkeep()
	if r.space.bytes != 0 {
		t.Errorf("%d bytes are left", r.space.bytes)
	}
	r.Keep(4 << 20)
	e := hold(r, "x", 1<<20)
	r.Encoded(e, 1<<20)
	r.Sent(e)
	r.Unkeep()
	r.Unkeep()
	if r.space.bytes != 2<<20 {
		t.Errorf("%d bytes with an encoding of %d", r.space.bytes, 1<<20)
	}
	r.End()
	r.Keep(4 << 20)
	r.Unkeep()
	if r.space.bytes != 2<<20 || r.space.leaving != 2<<20 {
		t.Errorf("%d bytes, %d leaving after its end", r.space.bytes, r.space.leaving)
	}
	r.Close()
	r.Unkeep()
	if r.space.bytes != 0 || r.space.leaving != 0 {
		t.Errorf("%d bytes, %d leaving after it is closed", r.space.bytes, r.space.leaving)
	}
}

func TestEndIfStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, New(1<<20), "a")
		defer r.Close()
		time.Sleep(time.Minute)
		if r.EndIfStuck(10*time.Second) != 10*time.Second {
			t.Error("idle is not stuck")
		}
		e := hold(r, "x", 1)
		for range 5 {
			r.Progress()
			time.Sleep(9 * time.Second)
		}
		if again := r.EndIfStuck(10 * time.Second); again != time.Second || r.ended {
			t.Errorf("slow is not stuck: again after %s", again)
		}
		time.Sleep(time.Second)
		if r.EndIfStuck(10*time.Second) != 0 || !r.forced {
			t.Error("stuck is not ended")
		}
		r.End() // has no effect any more
		if n := r.space.ledger.Ended(); n[StuckReader] != 1 || n[TooFarBehind] != 0 {
			t.Errorf("ended %v", n)
		}
		r.Sent(e)
	})
}

// TestBooksBalance lets many watches of two spaces do all there is to do at random.
func TestBooksBalance(t *testing.T) {
	l := New(1 << 20)
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[*space]bool{}
	for i := range 40 {
		all.Go(func() {
			for range 30 {
				w, err := l.Open([]string{"a", "b"}[i%2], 15, func(bool) {})
				if err != nil {
					continue
				}
				mu.Lock()
				seen[w.space] = true
				mu.Unlock()
				for range rand.IntN(20) {
					size := int64(rand.IntN(1 << 17))
					e := w.Hold(rand.IntN(50), size, func() any { return nil })
					if e == nil {
						break
					}
					w.Sending(e)
					if rand.IntN(3) == 0 {
						w.Encoded(e, size*2)
					}
					if rand.IntN(4) > 0 {
						w.Sent(e)
					}
				}
				w.Close()
			}
		})
	}
	all.Wait()
	for s := range seen {
		if s.bytes != 0 || s.leaving != 0 || len(s.events) != 0 || len(s.watches) != 0 {
			t.Errorf(
				"left: %d bytes, %d leaving, %d events, %d watches",
				s.bytes,
				s.leaving,
				len(s.events),
				len(s.watches),
			)
		}
	}
	if len(l.spaces) != 0 {
		t.Errorf("%d spaces are left", len(l.spaces))
	}
}
