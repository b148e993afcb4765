package server

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
)

// footprint gives the heap that a burst of writes needed back to the kernel once the burst is over. It is a change handler: the number of
// writes is how it knows. Collecting costs some tens of milliseconds, so it is done after a burst and never while many writes come.
type footprint struct {
	writes atomic.Int64
	rest   func() // gives back what is no heap
}

const (
	// quietTime is how long few writes must have come.
	quietTime = 5 * time.Second
	// fewWrites in a quietTime are no burst, such as the signs of life of targets, which never end. What they leave can wait for calmTime.
	fewWrites = 25
	calmTime  = 5 * time.Minute
	// collections follow a burst, a quietTime after each other: what pools keep they let go at the second.
	collections = 2
)

// Run gives memory back until ctx ends.
func (f *footprint) Run(ctx context.Context) error {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	last, freed, at := int64(0), int64(-1), time.Now()
	for due := collections; ; { // starting is a burst
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := f.writes.Load()
		if now-last > fewWrites {
			due = collections
		} else if due > 0 || now != freed && time.Since(at) >= calmTime {
			f.rest()
			compress.Thorough().Rest()
			debug.FreeOSMemory()
			due, freed, at = max(0, due-1), now, time.Now()
		}
		last = now
	}
}

// Reset implements apiserver.ChangeHandler.
func (f *footprint) Reset(int64, store.Listing) { f.writes.Add(1) }

// Apply implements apiserver.ChangeHandler.
func (f *footprint) Apply(store.Write) { f.writes.Add(1) }

// Progress implements apiserver.ChangeHandler.
func (f *footprint) Progress(int64) {}
