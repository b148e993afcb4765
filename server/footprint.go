package server

import (
	"context"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
)

// footprint gives the heap that a burst of writes needed back to the kernel once the burst is over. It is a change handler: the number of
// writes is how it knows. Collecting costs some tens of milliseconds, so it is done once for each burst and never while writes come.
type footprint struct{ writes atomic.Int64 }

// quietTime is how long no write must have come.
const quietTime = 5 * time.Second

// Run gives memory back until ctx ends.
func (f *footprint) Run(ctx context.Context) error {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	last, freed := int64(-1), int64(-1)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := f.writes.Load()
		if now == last && now != freed {
			debug.FreeOSMemory()
			freed = now
		}
		last = now
	}
}

// Reset implements apiserver.ChangeHandler.
func (f *footprint) Reset(int64, iter.Seq[store.Write]) { f.writes.Add(1) }

// Apply implements apiserver.ChangeHandler.
func (f *footprint) Apply(store.Write) { f.writes.Add(1) }

// Progress implements apiserver.ChangeHandler.
func (f *footprint) Progress(int64) {}
