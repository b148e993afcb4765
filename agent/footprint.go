package agent

import (
	"context"
	"runtime/debug"
	"time"
)

// A site may be a small board, so an agent gives memory back when work is over: the heap that a burst needed, and the pages of
// the binary that only starting or that burst touched (most of the binary is the center's code, which an agent never runs).
const (
	trimPeriod = 5 * time.Second
	// gcPercent trades a little CPU for a smaller heap: the live heap of an agent is small, so a collection is cheap.
	gcPercent = 50
)

// trim gives memory back each time that work has come and is over: progress is a number that changes while there is any. It sets
// the collector of the whole process, so it runs in a process that is an agent and nothing else.
func trim(ctx context.Context, progress func() int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	ticker := time.NewTicker(trimPeriod)
	defer ticker.Stop()
	trimmed, last := int64(-1), int64(-2)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := progress()
		if now == last && now != trimmed {
			debug.FreeOSMemory()
			dropText()
			trimmed = now
		}
		last = now
	}
}
