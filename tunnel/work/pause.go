package work

import (
	"context"
	"time"
)

// Pause waits for a while, and tells whether ctx still goes on then; when ctx ends it returns at once.
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
