package kine

import (
	"context"
	"database/sql"
	"time"

	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/logstructured/sqllog"
	"github.com/k3s-io/kine/pkg/server"
)

// table is the table kine of a database, read by kine's statements. Each read is of one moment.
type table struct {
	*generic.Generic
	// patience is how long a query goes on after nobody waits for it.
	patience time.Duration
}

// read is what a query found: rows, and the newest and the compacted revision at that moment.
type read struct {
	events           []*server.Event
	current, compact int64
}

// whole reads all rows of a query. It is an error if they break off: RowsToEvents does not ask why
// they end.
func whole(rows *sql.Rows, err error, value, old bool) (r read, _ error) {
	if err != nil {
		return r, err
	}
	found, compact, err := sqllog.RowsToEvents(rows, value, old)
	if err == nil {
		err = rows.Err()
	}
	return read{events: found.Events, current: found.CurrentRev, compact: compact}, err
}

// list reads the newest row of each key of a range, at a revision or, if that is 0, now. Rows that
// delete their key are left out unless deleted is set.
func (t *table) list(ctx context.Context, key, end string, limit, revision int64, deleted,
	keysOnly bool) (r read, err error) {
	ctx, done := patient(ctx, t.patience)
	defer done()
	key = t.TranslateStartKey(key)
	if revision == 0 {
		rows, err := t.ListCurrent(ctx, key, end, limit, deleted, keysOnly)
		return whole(rows, err, !keysOnly, false)
	}
	rows, err := t.List(ctx, key, end, limit, revision, deleted, keysOnly)
	if r, err = whole(rows, err, !keysOnly, false); err == nil {
		err = r.has(revision)
	}
	return r, err
}

// after reads all rows of a range that are newer than a revision, oldest first; limit 0 is all.
func (t *table) after(ctx context.Context, key, end string, revision, limit int64) (read, error) {
	ctx, done := patient(ctx, t.patience)
	defer done()
	rows, err := t.After(ctx, key, end, revision, limit)
	return whole(rows, err, true, true)
}

// has returns nil if what there was at a revision is known, or etcd's error.
func (r *read) has(revision int64) error {
	switch {
	case revision > r.current:
		return server.ErrFutureRev
	case revision < r.compact:
		return server.ErrCompacted
	}
	return nil
}

// count counts the keys of a range at a revision or, if that is 0, now.
func (t *table) count(ctx context.Context, key, end string, revision int64) (at, n int64,
	err error) {
	ctx, done := patient(ctx, t.patience)
	defer done()
	key = t.TranslateStartKey(key)
	if revision == 0 {
		return t.CountCurrent(ctx, key, end)
	}
	var r read
	if r.current, r.compact, n, err = t.Count(ctx, key, end, revision); err == nil {
		err = r.has(revision)
	}
	if err != nil {
		return 0, 0, err
	}
	return revision, n, nil
}

// newest returns the revision of the newest row.
func (t *table) newest(ctx context.Context) (int64, error) {
	ctx, done := patient(ctx, t.patience)
	defer done()
	return t.CurrentRevision(ctx)
}
