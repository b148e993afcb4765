package kine

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// compactTimeout is how long one step of a compaction may take; one that cannot have the database that long is given up and comes again.
	compactTimeout = 5 * time.Second
	// minRetain is how many revisions are kept however old they are.
	minRetain = 1000
)

// kine ends the process when the transaction of a compaction cannot be committed, as it is when another connection has the database for longer
// than compactTimeout. Nothing is lost then: the next step finds by the database that the one before was not done, and does it again. Nothing
// else that is used here calls Fatal.
func init() {
	logrus.StandardLogger().ExitFunc = func(int) {}
	logrus.AddHook(withoutValues{})
}

// compact compacts, after each interval, what was superseded before it began: first up to target. kine does so by itself only while it polls.
func (l *groupLog) compact(ctx context.Context, interval time.Duration, target int64) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, _ = l.SQLLog.Compact(ctx, target) // kine logs what fails; nothing to do is an error, too
		target, _ = l.CurrentRevision(ctx)
	}
}

// Compact does nothing: revisions are compacted by their age, whatever a client asks for.
func (l *groupLog) Compact(ctx context.Context, _ int64) (int64, error) {
	return l.CurrentRevision(ctx)
}
