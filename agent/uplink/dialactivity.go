package uplink

import (
	"sync/atomic"
	"time"
)

// A parent that answers a dial is there, and may have thousands of sites to let in. Another dial
// would only add to its load.
const (
	// answerGap is how long an answering parent may be silent before something else is tried.
	answerGap = 2 * time.Second
	// longestHold bounds how long in all something else waits for a dial that is answered. What
	// answers may never let it through.
	longestHold = 4 * time.Second
)

// dialActivity records that a parent answers a dial. The zero value has heard nothing.
type dialActivity struct{ last atomic.Int64 } // Unix nanoseconds

func (a *dialActivity) record() { a.last.Store(time.Now().UnixNano()) }

// hold returns how much longer what was due at a time has to wait, 0 for not at all.
func (a *dialActivity) hold(now, due time.Time) time.Duration {
	last := a.last.Load()
	if last == 0 {
		return 0
	}
	until := time.Unix(0, last).Add(answerGap)
	if latest := due.Add(longestHold); until.After(latest) {
		until = latest
	}
	return max(0, until.Sub(now))
}
