package observe

import (
	"context"
	"maps"
	"slices"
	"time"

	"skerry.dev/skerry/store"
)

// gatherTime is how long the report of an object that was just written waits for the first answers
// of the target's controllers. Both then travel as one. A refusal does not wait.
const gatherTime = 80 * time.Millisecond

// debounce are the keys whose reports wait.
type debounce struct {
	keys map[store.Key]struct{}
	wake chan struct{} // one slot: there are keys
}

func newDebounce() debounce {
	return debounce{keys: map[store.Key]struct{}{}, wake: make(chan struct{}, 1)}
}

// complete reports whether the feed has everything that the target had at the start.
func (o *Observer) complete() bool {
	select {
	case <-o.ready:
		return true
	default:
		return false
	}
}

// holdLocked lets the reports of a key wait. Nothing waits before the feed is complete, because the
// parent drops what a complete feed lacks.
func (o *Observer) holdLocked(k store.Key) {
	if !o.complete() {
		return
	}
	o.debounce.keys[k] = struct{}{}
	select {
	case o.debounce.wake <- struct{}{}:
	default:
	}
}

// letGoLocked ends a key's waiting because its report is about to be sent. What is sent is always
// the latest state.
func (o *Observer) letGoLocked(k store.Key) {
	if _, waits := o.debounce.keys[k]; waits {
		delete(o.debounce.keys, k)
		o.publishLocked(k)
	}
}

// release publishes the reports that waited for their time, until ctx ends.
func (o *Observer) release(ctx context.Context) {
	for {
		select {
		case <-o.debounce.wake:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(gatherTime)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		o.mu.Lock()
		waited := slices.DeleteFunc(
			slices.Collect(maps.Keys(o.debounce.keys)),
			func(k store.Key) bool { return o.records.Get(k) == nil },
		)
		o.debounce.keys = map[store.Key]struct{}{}
		o.publishLocked(waited...)
		o.mu.Unlock()
	}
}

// Waiting returns how many reports wait for their time.
func (o *Observer) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.debounce.keys)
}
