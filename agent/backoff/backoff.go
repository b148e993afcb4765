// Package backoff says how long to wait before what failed is tried again. The waits double up to a
// limit, and are spread, so that what failed at one moment is not tried again at one moment:
//
//	for failures := 1; try() != nil; failures++ {
//		time.Sleep(backoff.Half(failures, time.Second, time.Minute))
//	}
package backoff

import (
	"math/rand/v2"
	"time"
)

// Half returns a random time between half and all of first*2^(failures-1), at most limit. failures is
// how often in a row it failed, at least once.
func Half(failures int, first, limit time.Duration) time.Duration {
	d := whole(failures, first, limit)
	return d/2 + rand.N(d/2+1)
}

// Full returns a random time up to all of it, and at least a nanosecond. Sites that lost their parent
// at the same moment so come back spread over the whole time.
func Full(failures int, first, limit time.Duration) time.Duration {
	return rand.N(whole(failures, first, limit)) + 1
}

func whole(failures int, first, limit time.Duration) time.Duration {
	d := first
	for ; failures > 1 && d < limit; failures-- {
		d *= 2
	}
	return min(d, limit)
}
