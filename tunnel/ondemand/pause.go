package ondemand

import (
	"context"
	"time"
)

// Pause waits for d. It reports false when ctx is done, and returns at once then.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
