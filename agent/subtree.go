package agent

import (
	"context"
	"time"

	"skerry.dev/skerry/tunnel"
)

// overlookPause is how long a relay waits between two reports about the sites below it. When many
// of them get into trouble, or out of it, one frame each would be too much.
const overlookPause = 5 * time.Second

// reportSubtree reports to a relay's parent which sites below the relay are in trouble, and what their
// clusters offer, until ctx ends.
func (a *agent) reportSubtree(ctx context.Context) {
	for {
		below, changed := a.Subtree()
		a.conditions.ReportSubtree(below)
		if a.SubtreeOffer != nil {
			if offer := a.SubtreeOffer(); offer != nil {
				a.conditions.ReportOffer(offer)
			}
		}
		if !subtreeChanges(ctx, a.Subtree, below, changed) {
			return
		}
	}
}

// subtreeChanges waits until there is something else to report of the sites below than told, and for
// overlookPause at least. It does not wait that long when the first site is reached: until that is
// reported, the parent warns of a relay that reaches nobody. It reports false when ctx is done.
func subtreeChanges(ctx context.Context, subtree func() (*tunnel.SubtreeStatus, <-chan struct{}),
	told *tunnel.SubtreeStatus, changed <-chan struct{}) bool {
	rested := time.NewTimer(overlookPause)
	defer rested.Stop()
	for rests, news := true, false; rests || !news; {
		select {
		case <-rested.C:
			rests = false
		case <-changed:
			var is *tunnel.SubtreeStatus
			is, changed = subtree()
			if news = true; !told.Reaches() && is.Reaches() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}
