package kine

import (
	"context"
	"log/slog"
	"time"
)

const (
	// pollPeriod is how long after it was committed a write of another replica is seen at the
	// latest.
	pollPeriod = time.Second
	// pollRows is how many rows are read at once.
	pollRows = 500
)

// poller reads what all replicas write to a shared database and publishes it in a feed. A revision
// is visible only after all earlier ones (orderedSQL): one that is missing was rolled back.
type poller struct {
	table *table
	feed  *feed
	log   *slog.Logger
	woken chan struct{}
}

// wake lets the poller read at once: this replica has written.
func (p *poller) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// run reads what is written after a revision, until ctx ends. A read that fails is tried again from
// the same place.
func (p *poller) run(ctx context.Context, after int64) {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	failing := false
	for ctx.Err() == nil {
		r, err := p.table.after(ctx, "", "", after, pollRows)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failing {
			failing = err != nil
			p.tell(err)
		}
		if err == nil {
			after = p.publish(r, after)
		}
		if err == nil && len(r.events) == pollRows {
			continue
		}
		select {
		case <-tick.C:
		case <-p.woken:
			if failing {
				pause(ctx, pollPeriod)
			}
		case <-ctx.Done():
		}
	}
}

// publish hands over what a read found, and returns where the next one begins. If some of what was
// written since has been compacted, all watches end: their clients begin again from what they have.
func (p *poller) publish(r read, after int64) (next int64) {
	if after < r.compact {
		p.feed.restart(r.current)
		return r.current
	}
	if len(r.events) == 0 {
		return after
	}
	p.feed.publish(r.events)
	return r.events[len(r.events)-1].KV.ModRevision
}

func (p *poller) tell(err error) {
	if err != nil {
		p.log.Warn("what other replicas write is not seen; it is tried again", "err", err)
	} else {
		p.log.Info("what other replicas write is seen again")
	}
}
