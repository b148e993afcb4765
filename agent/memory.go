package agent

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/metrics"
)

// A site may be a small board, so an agent returns memory when work is over. It returns the heap
// that a burst needed, and the pages of the binary that only the start or that burst touched. Most
// of the binary is the center's code, which an agent never runs.
const (
	trimPeriod = 5 * time.Second
	// dropPeriods is after how many periods pages of files are returned in any case. Pages in use
	// come back at once.
	dropPeriods = 12
	// little is what an agent allocates in a trimPeriod in which there is no work to speak of.
	little = 512 << 10
	// gcPercent trades a little CPU for a smaller heap: the live heap of an agent is small, so a
	// collection costs some milliseconds.
	gcPercent = 25
)

// small sets the process up for a small heap until the returned function is called. It must be
// called before the agent opens anything. A burst of garbage at the start would leave holes between
// what stays. It sets the whole process, so it is for one that is an agent and nothing else.
func small() (undo func()) {
	percent, rate := debug.SetGCPercent(gcPercent), runtime.MemProfileRate
	runtime.MemProfileRate = 0 // nobody asks an agent for a heap profile, whose tables take some hundred KB
	return func() {
		debug.SetGCPercent(percent)
		runtime.MemProfileRate = rate
	}
}

// trim returns memory each time that work has come and is over. It finds work by how much was
// allocated. rest returns what is not heap. It is also called now and then, because each piece of
// work, however small, touches pages of the binary.
func trim(ctx context.Context, rest func()) {
	ticker := time.NewTicker(trimPeriod)
	defer ticker.Stop()
	worked, last := true, uint64(0) // starting is work
	for since := 0; ; since++ {     // files were given back
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := metrics.Allocated()
		busy := now-last > little
		if worked && !busy {
			compress.Default().ReleaseMemory()
			runtime.GC()         // what pools keep they let go at the second collection
			debug.FreeOSMemory() // collects again
		}
		if worked && !busy || since >= dropPeriods {
			rest()
			dropText()
			since = 0
		}
		worked, last = busy, now
	}
}
