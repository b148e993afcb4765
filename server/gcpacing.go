package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/metrics"
)

// gcPacing gives the heap that a burst of work needed back to the kernel once the burst is over,
// whatever the work was: it looks at how much is allocated. Collecting costs some tens of
// milliseconds, so it is done after a burst and never while there is much to do.
type gcPacing struct {
	rest func() // gives back what is no heap
	gc   pacing
}

const (
	// quietTime is how long little must have been allocated.
	quietTime = 5 * time.Second
	// burst in a quietTime has to be given back as soon as no more than little is allocated. What
	// lies between, such as what the heartbeats of many targets leave, never ends, and can wait for
	// calmTime.
	burst, little = 32 << 20, 8 << 20
	calmTime      = 5 * time.Minute
	// collections follow a burst, a quietTime after each other: what pools keep they let go at the
	// second, and each halves the stacks of goroutines that have used little of theirs since the
	// one before, of which a session has five.
	collections = 4
)

// run gives memory back until ctx ends.
func (f *gcPacing) run(ctx context.Context) error {
	tick := time.NewTicker(second)
	defer tick.Stop()
	f.gc.begin(debug.SetGCPercent, metrics.Room)
	last, freed, at := uint64(0), uint64(0), time.Now()
	for due, n := collections, 0; ; n++ { // starting is a burst
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := metrics.Allocated()
		if f.gc.tick(now) {
			runtime.GC()
		}
		if n%int(quietTime/second) != 0 {
			continue
		}
		switch rate := now - last; {
		case rate > burst:
			due = collections
		case due > 0 && rate <= little, now-freed > little && time.Since(at) >= calmTime:
			f.rest()
			compress.Thorough().ReleaseMemory()
			debug.FreeOSMemory()
			due, freed, at = max(0, due-1), now, time.Now()
		}
		last = now
	}
}

const second = time.Second // between two looks

// pacing lets the heap grow less between two collections while little is allocated: what a center
// with thousands of sites allocates when nothing happens fills any room that there is, and only how
// long that takes differs.
type pacing struct {
	mu        sync.Mutex
	most, now int           // in percent of the live heap; most is 0 while the percentage is not to be changed
	put       func(int) int // debug.SetGCPercent
	room      func() uint64 // metrics.Room
	last      uint64
	rate      float64 // bytes a second, falling slowly
	came      int     // sessions since the last tick
	crowded   int     // for so many ticks sessions count as coming
	// wide is how many bytes changes on many targets have needed at most, since the heap was last
	// found to have room for another one.
	wide uint64
}

// A calm heap may grow by calmPercent, and by as much as is allocated in collectTime, but never by
// more than the percentage that the process was started with.
const (
	calmPercent = 10
	collectTime = 15 // seconds
)

// What a session holds is taken amid the garbage of its handshake and of others', and stays where
// it is: the room that garbage had between two collections is left as holes, which nothing that
// comes later fills. So when a crowd of sessions comes within a second the heap may grow by
// crowdPercent only, until crowdTime after the last of them, because the statuses that are written
// then stay, too. That keeps some 25 KiB for each of 1,000 sites.
const (
	crowd        = 20
	crowdPercent = 20
	crowdTime    = 60 // seconds
)

// arrives takes note of a session that begins.
func (p *pacing) arrives() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.came++; p.came < crowd {
		return
	}
	if p.crowded = crowdTime; p.now > crowdPercent {
		p.set(crowdPercent)
	}
}

// begin takes the percentage that is in force for the most. Where the variable GOGC says one, it
// stays.
func (p *pacing) begin(put func(int) int, room func() uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put, p.room = put, room
	if p.last = metrics.Allocated(); os.Getenv("GOGC") == "" {
		p.most = put(100)
		put(p.most)
		p.now = p.most
	}
}

// tick takes note of what was allocated within a second, and tells whether the heap is to be
// collected now.
func (p *pacing) tick(allocated uint64) (collect bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if over := allocated-p.last < p.wide/4; over {
		collect = p.most > 0 && p.room() < 2*p.wide
		p.wide = 0
	}
	p.rate = max(float64(allocated-p.last), 0.8*p.rate)
	p.last = allocated
	most := p.most
	if p.crowded > 0 {
		p.crowded--
		most = min(most, crowdPercent)
	}
	p.came = 0
	if next := percentage(p.rate, metrics.Live(), most); next > p.now+p.now/8 || next < p.now-p.now/8 {
		p.set(next)
	}
	return collect
}

// A change on many targets allocates deliveryBytes for each, at once: a heap that may grow by what
// is calm only would be collected in the middle of it, more than once, and the targets would wait
// for that. One change uses up most of the room that there may be, so when it is over, and nobody
// waits, the heap is collected for the next one, unless there is room for it. Fewer than
// manyTargets do not matter.
const (
	deliveryBytes = 24 << 10
	manyTargets   = 50
)

// spread makes room for a change that goes to so many targets now.
func (p *pacing) spread(targets int) {
	if targets < manyTargets {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wide = max(p.wide, uint64(targets*deliveryBytes))
	if p.rate = max(p.rate, float64(targets*deliveryBytes)); p.now >= p.most {
		return
	}
	if next := percentage(p.rate, metrics.Live(), p.most); next > p.now {
		p.set(next)
	}
}

// set is called with the lock.
func (p *pacing) set(percent int) {
	if p.most > 0 {
		p.put(percent)
		p.now = percent
	}
}

// percentage is by how much a live heap may grow until it is collected while so many bytes are
// allocated in a second.
func percentage(rate float64, live uint64, most int) int {
	room := 100 * rate * collectTime / float64(max(live, 1))
	return min(most, max(calmPercent, int(min(room, 1000))))
}
