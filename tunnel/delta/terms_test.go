package delta_test

import (
	"fmt"
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

// reports is a source whose changes have priorities, and the order in which they arrive.
type reports struct {
	*source
	sink *storetest.Memory

	mu      sync.Mutex
	arrived []string
	last    time.Time
	batches int
}

func newReports() *reports {
	r := &reports{source: newSource(store.NewIncarnation(), 0), sink: storetest.NewMemory()}
	r.sink.OnCommit = func(b store.Batch) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range b.Entries {
			r.arrived = append(r.arrived, e.Key.Name)
		}
		r.last = time.Now()
		r.batches++
	}
	return r
}

func (r *reports) tell(p store.Priority, names ...string) {
	for _, n := range names {
		k := store.Key{Space: "shop", Resource: "pods", Namespace: "web", Name: n}
		r.source.mu.Lock()
		r.revision++
		b := fmt.Appendf(nil, `{"status":{"at":%d}}`, r.revision)
		r.bodies[k] = b
		r.source.mu.Unlock()
		r.Apply(r.revision, store.Change{Key: k, Generation: 1, Hash: store.HashBody(1, b), Priority: p})
	}
}

// take returns what has arrived since the last call.
func (r *reports) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.arrived
	r.arrived, r.batches = nil, 0
	return out
}

func (r *reports) want(t *testing.T, when string, names ...string) {
	t.Helper()
	if got := r.take(); !slices.Equal(got, names) {
		t.Errorf("%s: %q arrived, want %q", when, got, names)
	}
}

// What is urgent overtakes what is not, and the position stands still until all is there.
func TestUrgentGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		o := delta.Up(delta.LAN)
		s := connect(t, r.Feed, r.sink, o, pipe.Options{Latency: 100 * time.Millisecond})
		time.Sleep(time.Minute)
		r.tell(store.PriorityAssociated, "first") // goes at once, and begins a window
		synctest.Wait()
		for i := range 5 {
			r.tell(store.PriorityEvent, fmt.Sprint("event-", i))
			r.tell(store.PriorityAssociated, fmt.Sprint("pod-", i))
		}
		r.tell(store.PriorityState, "status")
		r.tell(store.PriorityCondition, "condition")
		r.tell(store.PriorityError, "error")
		synctest.Wait()
		r.tell(store.PriorityEvent, "error") // what was to be told at once is told at once
		time.Sleep(5 * time.Second)
		r.want(t, "all", "first", "error", "condition", "status", "pod-0", "pod-1", "pod-2", "pod-3", "pod-4",
			"event-0", "event-1", "event-2", "event-3", "event-4")
		wantEqual(t, r.source, r.sink)
		s.end()
	})
}

// A backlog of many batches does not delay what is urgent by more than what is already on its way.
func TestUrgentOvertakesABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		s := connect(t, r.Feed, r.sink, delta.Up(delta.Metered), pipe.Options{Latency: time.Second})
		time.Sleep(time.Minute)
		for i := range 3000 {
			r.tell(store.PriorityAssociated, fmt.Sprint("pod-", i))
		}
		time.Sleep(3 * time.Second) // some of it is on its way
		r.take()
		told := time.Now()
		r.tell(store.PriorityError, "error")
		for !slices.Contains(r.take(), "error") {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(told); took > 5*time.Second {
			t.Errorf("an error took %v, two round trips are 4 s", took)
		}
		if len(r.sink.Live()) == 3001 {
			t.Error("the error came last")
		}
		time.Sleep(time.Minute)
		wantEqual(t, r.source, r.sink)
		s.end()
	})
}

// What is held back goes when the terms change, and only then; the last value of a key alone.
func TestHoldKeepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		o := delta.Up(delta.LAN)
		held := delta.LAN.Up()
		held.Hold = true
		o.Policy.Set(held)
		s := connect(t, r.Feed, r.sink, o, pipe.Options{})
		time.Sleep(time.Second)
		r.tell(store.PriorityState, "status", "status", "status")
		r.tell(store.PriorityAssociated, "pod", "gone")
		r.tell(store.PriorityEvent, "event")
		r.tell(store.PriorityError, "error")
		r.set(map[store.Key]string{{Space: "shop", Resource: "pods", Namespace: "web", Name: "gone"}: ""})
		time.Sleep(10 * time.Second)
		r.want(t, "held", "error", "gone")
		if n := o.Policy.Waiting(); n < 3 || n > 3000 {
			t.Errorf("%d bytes wait, of three entries", n)
		}
		if at := r.sink.Position(); at == r.Head() {
			t.Error("the receiver believes that it has all")
		}
		o.Policy.Set(delta.LAN.Up())
		time.Sleep(5 * time.Second)
		r.want(t, "released", "status", "pod", "event")
		if n := o.Policy.Waiting(); n != 0 {
			t.Errorf("%d bytes wait, of nothing", n)
		}
		wantEqual(t, r.source, r.sink)
		s.end()
	})
}

// A sender that is held and loses its connection compares again, and still holds.
func TestHoldOutlastsAComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		r.sink.AcceptNewIncarnation = true
		r.tell(store.PriorityState, "status")
		r.tell(store.PriorityError, "error")
		o := delta.Up(delta.LAN)
		held := delta.LAN.Up()
		held.Hold = true
		o.Policy.Set(held)
		for range 3 {
			s := connect(t, r.Feed, r.sink, o, pipe.Options{})
			time.Sleep(10 * time.Second)
			s.end()
		}
		if live := r.sink.Live(); len(live) != 1 {
			t.Errorf("%d values crossed, want the error alone", len(live))
		}
		o.Policy.Set(delta.LAN.Up())
		s := connect(t, r.Feed, r.sink, o, pipe.Options{})
		time.Sleep(10 * time.Second)
		wantEqual(t, r.source, r.sink)
		s.end()
	})
}

// The windows of a metered link: 5 to 30 s for what can wait, one for what cannot, and one to
// gather before the first.
func TestMeteredWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		s := connect(t, r.Feed, r.sink, delta.Up(delta.Metered), pipe.Options{})
		time.Sleep(time.Hour)
		r.take()
		for i := range 600 { // 10 a second
			r.tell(store.PriorityAssociated, fmt.Sprint("pod-", i%10))
			if i == 0 {
				synctest.Wait()
				r.want(t, "before it was gathered")
			}
			time.Sleep(100 * time.Millisecond)
		}
		r.mu.Lock()
		n := r.batches
		r.mu.Unlock()
		if n < 3 || n > 12 {
			t.Errorf("%d batches in a minute, want 3 to 12", n)
		}
		time.Sleep(time.Minute)
		r.take()
		for i := range 10 {
			told := time.Now()
			r.tell(store.PriorityAssociated, "pod")
			r.tell(store.PriorityCondition, "condition")
			time.Sleep(1100 * time.Millisecond)
			if got := r.take(); !slices.Contains(got, "condition") {
				t.Errorf("changed condition %d is not there after %v: %q", i, time.Since(told), got)
			}
		}
		s.end()
	})
}

// Terms that change while a sender waits for its window count at once.
func TestTermsChangeAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports()
		o := delta.Up(delta.Metered)
		s := connect(t, r.Feed, r.sink, o, pipe.Options{})
		time.Sleep(time.Hour)
		r.tell(store.PriorityState, "a")
		time.Sleep(2 * time.Second)
		r.tell(store.PriorityState, "b") // waits for its window of 5 s
		time.Sleep(time.Second)
		r.want(t, "metered", "a")
		o.Policy.Set(delta.LAN.Up())
		r.want(t, "on a LAN", "b")
		s.end()
	})
}
