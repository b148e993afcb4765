package kine

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	// compactTimeout is how long one step of a compaction may take. A step that cannot have the
	// database that long is given up and done again at the next interval.
	compactTimeout = 5 * time.Second
	// compactStep is how many revisions one transaction compacts, so that writers wait little.
	compactStep = 1000
	// minRetain is how many revisions are kept however old they are.
	minRetain = 1000
)

// compact compacts, after each interval, what was superseded before it began: first up to target.
// It ends with ctx.
func (b *backend) compact(ctx context.Context, interval time.Duration, target int64) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		newest, err := b.compactTo(ctx, target)
		switch {
		case err == nil:
			target = newest
		case ctx.Err() == nil:
			b.log.Warn("superseded revisions are kept; compaction is tried again", "err", err)
		}
	}
}

// compactTo deletes the rows that are superseded at a revision, and returns the newest revision.
// Writers go on between its steps.
func (b *backend) compactTo(ctx context.Context, target int64) (newest int64, err error) {
	for more := true; more && err == nil; {
		err = b.committer.alone(ctx, func() (err error) {
			newest, more, err = b.table.compactStep(ctx, target)
			return err
		})
	}
	return newest, err
}

// compactStep does a part of a compaction in one transaction. A reader sees all of it or nothing.
func (t *table) compactStep(ctx context.Context, target int64) (newest int64, more bool,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	tx, err := t.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return 0, false, fmt.Errorf("begin a compaction: %w", err)
	}
	defer tx.Rollback()
	var done int64
	if err := tx.QueryRowContext(ctx, t.CurrentRevSQL.Query).Scan(&newest); err != nil {
		return 0, false, fmt.Errorf("read the newest revision: %w", err)
	}
	if err := tx.QueryRowContext(ctx, t.CompactRevSQL.Query).Scan(&done); err != nil {
		return 0, false, fmt.Errorf("read the compacted revision: %w", err)
	}
	target = min(target, newest-minRetain)
	to := min(target, done+compactStep)
	if to <= done {
		return newest, false, nil
	}
	if _, err := tx.ExecContext(ctx, t.CompactSQL.Query, done, to, done, to); err != nil {
		return 0, false, fmt.Errorf("compact to revision %d: %w", to, err)
	}
	if _, err := tx.ExecContext(ctx, t.UpdateCompactSQL.Query, to); err != nil {
		return 0, false, fmt.Errorf("record compaction to revision %d: %w", to, err)
	}
	if err := tx.Commit(); err != nil {
		return 0, false, fmt.Errorf("commit compaction to revision %d: %w", to, err)
	}
	return newest, to < target, nil
}
