package agent

import (
	"context"
	"time"

	"skerry.dev/skerry/tunnel/ondemand"
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
		if !ondemand.Pause(ctx, overlookPause) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
