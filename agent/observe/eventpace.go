package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compactmap"
)

// Bounds of what Events take of the link: eventBurst reports at once, and then one in eventEvery.
// That is less than an idle link takes, however much goes wrong on the target.
const (
	eventBurst = 60
	eventEvery = 30 * time.Second
	// eventGather is how long an Event waits for others.
	eventGather = time.Second
)

// pace says when reports of Events may go into the feed.
type pace struct {
	waiting compactmap.Map[store.Key, bool]
	wake    chan struct{} // one slot: something waits
	left    float64
	filled  time.Time
}

func newPace() pace {
	return pace{wake: make(chan struct{}, 1), left: eventBurst, filled: time.Now()}
}

// allow returns how many of n reports may go at a time.
func (p *pace) allow(now time.Time, n int) int {
	p.left = min(eventBurst, p.left+now.Sub(p.filled).Seconds()/eventEvery.Seconds())
	p.filled = now
	n = min(n, int(p.left))
	p.left -= float64(n)
	return n
}

func (p *pace) forget(k store.Key) { p.waiting.Delete(k) }

// publishEventLocked puts an Event into the feed when it is its turn. Before the feed is complete
// nothing waits: the parent would drop what the feed lacks, and what the parent has already costs
// nothing.
func (o *Observer) publishEventLocked(k store.Key) {
	if !o.complete() {
		o.publishLocked(k)
		return
	}
	p := &o.events.pace
	p.waiting.Put(k, true)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// runEvents publishes the Events that wait, the latest first, until ctx ends.
func (o *Observer) runEvents(ctx context.Context) {
	for {
		select {
		case <-o.events.pace.wake:
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
			wait = o.publishSome(time.Now())
		}
	}
}

// publishSome publishes as many as may go now. It returns after which time to go on, 0 if nothing
// waits any more.
func (o *Observer) publishSome(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.events.pace
	due := slices.SortedFunc(
		p.waiting.Keys(),
		func(a, b store.Key) int { return cmp.Compare(o.records.Get(b).at, o.records.Get(a).at) },
	)
	due = due[:p.allow(now, len(due))]
	for _, k := range due {
		p.waiting.Delete(k)
	}
	o.publishLocked(due...)
	if p.waiting.Len() == 0 {
		return 0
	}
	return eventEvery
}
