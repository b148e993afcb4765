package storage

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// historyLength is for how long lists as of a revision come from a cache: as long as the store
	// keeps everything. Older ones are the store's to answer, or to call expired.
	historyLength = 5 * time.Minute
	// historyStep is how exactly that is kept.
	historyStep = time.Minute
)

// history tells the caches the oldest revision for which they must answer lists. Without it a cache
// keeps its state at each change until its window of events is full. That takes weeks in a small
// center, and a continue token would never expire.
type history struct{ oldest atomic.Int64 }

// CompactRevision implements etcd3.Compactor.
func (h *history) CompactRevision() int64 { return h.oldest.Load() }

// run moves the oldest revision until ctx ends. It skips a step at which the store does not answer.
func (h *history) run(ctx context.Context, newest func(context.Context) (int64, error)) error {
	tick := time.NewTicker(historyStep)
	defer tick.Stop()
	var marks []int64 // the newest revision at each of the last steps
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		rev, err := newest(ctx)
		if err != nil {
			continue
		}
		if marks = append(marks, rev); len(marks) > int(historyLength/historyStep) {
			h.oldest.Store(marks[0])
			marks = marks[1:]
		}
	}
}
