package agent

import (
	"context"
	"time"

	"skerry.dev/skerry/tunnel/work"
)

// overlookPause is how long a relay waits after each word about the sites below it: when many of them get into trouble, or out of it, that is not worth
// a frame each.
const overlookPause = 5 * time.Second

// overlook tells the parent of a relay which of the sites below it are not as they should be, until ctx ends.
func (a *agent) overlook(ctx context.Context) {
	for {
		below, changed := a.Below()
		a.conditions.Overlook(below)
		if !work.Pause(ctx, overlookPause) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
