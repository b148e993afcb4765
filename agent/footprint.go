package agent

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"skerry.dev/skerry/store/compress"
)

// A site may be a small board, so an agent gives memory back when work is over: the heap that a burst needed, and the pages of
// the binary that only starting or that burst touched (most of the binary is the center's code, which an agent never runs).
const (
	trimPeriod = 5 * time.Second
	// dropPeriods is after how many of them pages of files are given back while work goes on without a pause: what is in use comes back at once.
	dropPeriods = 12
	// gcPercent trades a little CPU for a smaller heap: the live heap of an agent is small, so a collection costs some milliseconds.
	gcPercent = 25
)

// small sets the process up for a small heap until the returned function is called: before the agent opens anything, because a burst
// of garbage at the start would leave holes between what stays. It sets the whole process, so it is for one that is an agent and nothing else.
func small() (undo func()) {
	percent, rate := debug.SetGCPercent(gcPercent), runtime.MemProfileRate
	runtime.MemProfileRate = 0 // nobody asks an agent for a heap profile, whose tables take some hundred KB
	return func() {
		debug.SetGCPercent(percent)
		runtime.MemProfileRate = rate
	}
}

// trim gives memory back each time that work has come and is over: progress is a number that changes while there is any. rest gives back what is
// no heap; that is done now and then while work goes on, too.
func trim(ctx context.Context, progress func() int64, rest func()) {
	ticker := time.NewTicker(trimPeriod)
	defer ticker.Stop()
	trimmed, last := int64(-1), int64(-2)
	for since := 1; ; since++ { // files were given back
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := progress()
		over := now == last && now != trimmed
		if over {
			compress.Default().Rest()
			runtime.GC()         // what pools keep they let go at the second collection
			debug.FreeOSMemory() // collects again
			trimmed = now
		}
		if over || now != last && since >= dropPeriods {
			rest()
			dropText()
			since = 0
		}
		last = now
	}
}
