package delta_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// batchesOf is how many batches the changes of a while take, beginning after a pause. The first goes at
// once.
func batchesOf(t *testing.T, r *reports, p store.Priority, changes int, every time.Duration) int {
	t.Helper()
	time.Sleep(time.Minute)
	r.take()
	for i := range changes {
		r.tell(p, fmt.Sprint(p, "-", i))
		if i == 0 {
			r.want(t, "the first", fmt.Sprint(p, "-0"))
		}
		time.Sleep(every)
	}
	time.Sleep(2 * time.Second)
	r.mu.Lock()
	n := r.batches
	r.mu.Unlock()
	if got := len(r.take()); got != changes-1 {
		t.Errorf("%d of %d arrived", got, changes-1)
	}
	return n
}

// Pods are gathered when many change. The statuses of placed objects go every 60 ms, however many there
// are: the receiver commits each batch.
func TestWindowAdapts(t *testing.T) {
	for name, c := range map[string]struct {
		priority    store.Priority
		each        time.Duration
		least, most int
	}{
		"50 Pods a second":       {store.PriorityAssociated, 20 * time.Millisecond, 10, 40},
		"50 statuses a second":   {store.PriorityState, 20 * time.Millisecond, 150, 180},
		"50 conditions a second": {store.PriorityCondition, 20 * time.Millisecond, 150, 180},
		"a flood of statuses":    {store.PriorityState, time.Millisecond, 150, 180},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReports()
				s := connect(t, r.Feed, r.sink, delta.Up(delta.LAN), pipe.Options{})
				changes := int(10 * time.Second / c.each)
				if n := batchesOf(t, r, c.priority, changes, c.each); n < c.least || n > c.most {
					t.Errorf("%d batches for %d changes in 10 s, want %d to %d", n, changes, c.least, c.most)
				}
				s.end()
			})
		})
	}
}

// A status does not wait for the window that Pods have grown, and does not shrink it. What waits for a
// window that ends soon goes with it, in one batch.
func TestStatesDoNotWaitForPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		s := connect(t, r.Feed, r.sink, delta.Up(delta.LAN), pipe.Options{})
		time.Sleep(time.Minute)
		r.take()
		pods, statuses, at := 0, map[string]time.Time{}, time.Duration(0)
		for i := range 1000 { // 100 Pods a second, and 10 statuses
			r.tell(store.PriorityAssociated, fmt.Sprint("pod-", i))
			if i%10 == 0 {
				name := fmt.Sprint("status-", i)
				statuses[name] = time.Now()
				r.tell(store.PriorityState, name)
			}
			time.Sleep(10 * time.Millisecond)
			for _, name := range r.take() {
				if told, is := statuses[name]; is {
					at = max(at, time.Since(told))
					delete(statuses, name)
				} else {
					pods++
				}
			}
		}
		if at > 130*time.Millisecond || len(statuses) > 2 {
			t.Errorf("a status took %s; %d have not come", at, len(statuses))
		}
		r.take()
		time.Sleep(2 * time.Second)
		if pods += len(r.take()); pods < 990 || r.Head() != r.sink.Position() {
			t.Errorf("%d of 1000 Pods have come; the copy is at %s", pods, r.sink.Position())
		}
		s.end()
	})
}
