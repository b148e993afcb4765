package kine

import (
	"context"
	"time"
)

// patience is how long a query of a shared database goes on after nobody waits for it.
const patience = time.Second

// patient is a context for a query: it ends some time after ctx does, which most queries never see. pgx closes the connection of a query that is given up,
// and what that leaves behind fails queries of others: their connection is bad, or has a deadline of which they know nothing (v5.10.0, pgconn).
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	query, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return query, func() {
		stop()
		cancel()
	}
}
