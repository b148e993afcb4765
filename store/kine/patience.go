package kine

import (
	"context"
	"time"
)

// patience is how long a query of a shared database goes on after nobody waits for it.
const patience = time.Second

// patient returns a context for a query: it ends some time after ctx does, which most queries never
// see. pgx closes the connection of a query that is given up, and what that leaves behind fails
// queries of others: their connection is bad, or has a deadline of which they know nothing
// (v5.10.0, pgconn). A patience of 0 is for a database that has no such connections.
func patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if patience == 0 {
		return ctx, func() {}
	}
	query, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return query, func() {
		stop()
		cancel()
	}
}
