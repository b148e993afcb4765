package kine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"sync/atomic"
)

const (
	// checkpointPages is how many pages of 4 KiB the log has when it is checkpointed. Each
	// checkpoint is a sync of the whole file beside which commits are slower, so they are rare;
	// this is some 600 lone creates.
	checkpointPages = 3000
	// remainingPages is how much of the log may be left to checkpoint while writers wait: no more
	// than what one of them writes.
	remainingPages = 256
	// rounds is how often the log is checkpointed beside those who write, each time what was
	// written meanwhile, before they wait.
	rounds = 4
	// askAfter and askAfterBytes are how many commits, or bytes in them, are made before the size
	// of the log is asked for again.
	askAfter, askAfterBytes = 32, 1 << 20
)

// checkpointer copies the write-ahead log into the file. It buys a log that stays small while short
// reads overlap: SQLite itself checkpoints inside the commit that fills the log, never waits for a
// reader, and so may never begin the log anew. It also spares that one writer the sync of the whole
// file. Without it, commits checkpoint: remove this file, and the PRAGMA in transactions.open.
//
// The pages are copied beside the writers, who wait only for the last few. The log can begin anew
// when no read is under way that began before the copy was complete. The writers wait for such reads
// too, for readTimeout. If that is not enough, the log grows, and the next try is checkpointPages
// later. When a try succeeds after that, the log is cut to nothing.
type checkpointer struct {
	db   *sql.DB
	turn chan struct{} // groupCommit's
	log  *slog.Logger
	wake chan struct{}

	// What was committed since the checkpointer was woken. turn must be held.
	commits, bytes int

	// restarts counts how often the log could begin anew.
	restarts atomic.Int64

	conn    *sql.Conn
	next    int // the size of the log from which on it is to begin anew
	failing bool
}

// readTimeout is how long writers wait, in milliseconds, for those who read the log when it is to
// begin anew.
const readTimeout = 50

func newCheckpointer(db *sql.DB, turn chan struct{}, log *slog.Logger) *checkpointer {
	return &checkpointer{db: db, turn: turn, log: log, wake: make(chan struct{}, 1),
		next: checkpointPages}
}

// committed counts a commit of so many bytes. c.turn must be held.
func (c *checkpointer) committed(bytes int) {
	c.commits, c.bytes = c.commits+1, c.bytes+bytes
	if c.commits < askAfter && c.bytes < askAfterBytes {
		return
	}
	c.commits, c.bytes = 0, 0
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run checkpoints until ctx ends. What fails is tried again after the next commits.
func (c *checkpointer) run(ctx context.Context) {
	defer c.close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		err := c.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.close() // whatever state it is in
		}
		if failing := err != nil; failing != c.failing {
			c.failing = failing
			if failing {
				c.log.Warn("the database's log is not checkpointed and grows; it is tried again",
					"err", err)
			} else {
				c.log.Info("the database's log is checkpointed again")
			}
		}
	}
}

// look checkpoints the log when it is large: until little of it is left, and then that too.
func (c *checkpointer) look(ctx context.Context) error {
	l, err := c.checkpoint(ctx, "NOOP")
	if err != nil || l.pages < c.next {
		return err
	}
	for range rounds {
		if l, err = c.checkpoint(ctx, "PASSIVE"); err != nil {
			return err
		}
		// Of what was there when it began, only what somebody does not have yet who reads is left.
		if l.left() > remainingPages && l.pages < 2*c.next {
			return nil
		}
		if l, err = c.checkpoint(ctx, "NOOP"); err != nil {
			return err
		}
		if l.left() <= remainingPages {
			break
		}
	}
	return c.restart(ctx)
}

// restart has the log begin anew with the next write, and gives back what it grew beyond its size
// while that was not possible.
func (c *checkpointer) restart(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	mode := "RESTART"
	if c.next > checkpointPages {
		mode = "TRUNCATE"
	}
	l, err := c.checkpoint(ctx, mode)
	if err != nil {
		return err
	}
	c.next = checkpointPages
	if l.busy {
		c.next += l.pages
	} else {
		c.restarts.Add(1)
	}
	return nil
}

// logState is what is known of the log after a checkpoint.
type logState struct {
	pages, copied int  // how many it has, and how many of them the file has, too
	busy          bool // somebody was in the way
}

func (l logState) left() int { return l.pages - l.copied }

func (c *checkpointer) checkpoint(ctx context.Context, mode string) (l logState, err error) {
	if err := c.open(ctx); err != nil {
		return l, err
	}
	if err := c.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&l.busy, &l.pages,
		&l.copied); err != nil {
		return l, fmt.Errorf("checkpoint: %w", err)
	}
	return l, nil
}

func (c *checkpointer) open(ctx context.Context) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.conn, err = c.db.Conn(ctx); err != nil {
		return err
	}
	_, err = c.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, readTimeout))
	return err
}

func (c *checkpointer) close() {
	if c.conn == nil {
		return
	}
	// closes it: it waits less than others do
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
	c.conn = nil
}
