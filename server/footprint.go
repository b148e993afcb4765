package server

import (
	"context"
	"runtime/debug"
	"time"

	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/metrics"
)

// footprint gives the heap that a burst of work needed back to the kernel once the burst is over, whatever the work was: it looks at how much is
// allocated. Collecting costs some tens of milliseconds, so it is done after a burst and never while there is much to do.
type footprint struct {
	rest func() // gives back what is no heap
}

const (
	// quietTime is how long little must have been allocated.
	quietTime = 5 * time.Second
	// burst in a quietTime has to be given back as soon as no more than little is allocated. What lies between, such as what the signs of life of
	// many targets leave, never ends, and can wait for calmTime.
	burst, little = 32 << 20, 8 << 20
	calmTime      = 5 * time.Minute
	// collections follow a burst, a quietTime after each other: what pools keep they let go at the second, and each halves the stacks of goroutines
	// that have used little of theirs since the one before, of which a session has five.
	collections = 4
)

// run gives memory back until ctx ends.
func (f *footprint) run(ctx context.Context) error {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	last, freed, at := uint64(0), uint64(0), time.Now()
	for due := collections; ; { // starting is a burst
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := metrics.Allocated()
		switch rate := now - last; {
		case rate > burst:
			due = collections
		case due > 0 && rate <= little, now-freed > little && time.Since(at) >= calmTime:
			f.rest()
			compress.Thorough().Rest()
			debug.FreeOSMemory()
			due, freed, at = max(0, due-1), now, time.Now()
		}
		last = now
	}
}
