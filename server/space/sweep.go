package space

import (
	"context"
	"time"
)

// sweepDelay is how long after a Space has gone its content is looked for once more: longer than a
// request may take.
const sweepDelay = 2 * time.Minute

// sweep deletes what was written to a space while it went: nothing that begins after it left the
// set is accepted, but a write may have been under way. It costs one listing of the store's keys.
func (c *Controller) sweep(ctx context.Context, name string) error {
	if c.config.Set.Has(name) {
		return nil // made anew
	}
	return c.empty(ctx, name, func(int) {})
}
