package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/shrinking"
)

// What Events may take of the link at most: eventBurst reports of them at once, and then one in eventEvery. With about 200 bytes each that is 24 KB an
// hour, less than the link takes when it is idle, however much goes wrong on the target.
const (
	eventBurst = 60
	eventEvery = 30 * time.Second
	// eventGather is how long an Event waits for others.
	eventGather = time.Second
)

// pace says when reports of Events may go into the feed.
type pace struct {
	waiting shrinking.Map[store.Key, bool]
	wake    chan struct{} // one slot: something waits
	left    float64
	filled  time.Time
}

func newPace() pace {
	return pace{wake: make(chan struct{}, 1), left: eventBurst, filled: time.Now()}
}

// take tells how many may go at a time, of n that would.
func (p *pace) take(now time.Time, n int) int {
	p.left = min(eventBurst, p.left+now.Sub(p.filled).Seconds()/eventEvery.Seconds())
	p.filled = now
	n = min(n, int(p.left))
	p.left -= float64(n)
	return n
}

func (p *pace) forget(k store.Key) { p.waiting.Delete(k) }

// publishEvent puts an Event into the feed when its turn is. Before the feed is complete nothing waits: what it lacks would be taken back at the
// parent, and what the parent has already costs nothing. o.mu is held.
func (o *Observer) publishEvent(k store.Key) {
	if !o.complete() {
		o.publish(k)
		return
	}
	p := &o.happenings.pace
	p.waiting.Put(k, true)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// tellEvents publishes the Events that wait, the latest first, until ctx ends.
func (o *Observer) tellEvents(ctx context.Context) {
	for {
		select {
		case <-o.happenings.pace.wake:
		case <-ctx.Done():
			return
		}
		for wait := eventGather; wait > 0; {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			wait = o.tellSome(time.Now())
		}
	}
}

// tellSome publishes as many as may go now. It returns after which time to go on, 0 when nothing waits any more.
func (o *Observer) tellSome(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.happenings.pace
	due := slices.SortedFunc(p.waiting.Keys(), func(a, b store.Key) int { return cmp.Compare(o.records.Get(b).at, o.records.Get(a).at) })
	due = due[:p.take(now, len(due))]
	for _, k := range due {
		p.waiting.Delete(k)
	}
	o.publish(due...)
	if p.waiting.Len() == 0 {
		return 0
	}
	return eventEvery
}
