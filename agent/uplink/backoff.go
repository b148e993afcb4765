package uplink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"skerry.dev/skerry/tunnel"
)

// fullJitter returns a random time up to firstWait*2^(failures-1), at most longestWait: many sites that lost their parent at the same
// moment come back spread over the whole time.
func fullJitter(failures int) time.Duration {
	limit := longestWait
	if failures < 10 {
		limit = min(longestWait, firstWait<<(failures-1))
	}
	return rand.N(limit) + 1
}

// waitAfter returns how long to wait after a session, or a dial, ended with err.
func waitAfter(err error, failures int) time.Duration {
	var refused *tunnel.Refused
	switch {
	case errors.Is(err, tunnel.ErrRenewed), errors.Is(err, tunnel.ErrAgain):
		return 0
	case errors.As(err, &refused):
		if refused.RetryAfter > 0 {
			return refused.RetryAfter + rand.N(refused.RetryAfter/2+1)
		}
		return longestWait/2 + fullJitter(failures)
	case errors.Is(err, tunnel.ErrReplaced):
		return longestWait + rand.N(longestWait) // somebody else has this identity: do not fight for it
	default:
		return fullJitter(failures)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
