package kine

import (
	"context"

	"github.com/k3s-io/kine/pkg/server"
)

// sharedInsertSQL is insertSQL for PostgreSQL, with the arguments of kine's Insert: it asks the row
// that is replaced when its key was created. Replicas of releases before cannot read NULL there.
const sharedInsertSQL = `
	INSERT INTO kine
		(name, created, deleted, create_revision, prev_revision, lease, value, old_value)
	WITH replaced AS (SELECT id, create_revision, value FROM kine WHERE id = $1 AND deleted = 0)
	SELECT $2, $3, $4,
		COALESCE((SELECT COALESCE(NULLIF(create_revision, 0), id) FROM replaced), 0),
		$5, $6, $7, (SELECT value FROM replaced)
	WHERE NOT EXISTS (SELECT 1 FROM kine WHERE name = $8 AND id > $9)
		AND ($3 = 1 OR EXISTS (SELECT 1 FROM replaced))
	RETURNING id`

// inserter commits each write in a transaction of its own, in a database that others write to, too.
type inserter struct {
	table *table
	// turns has one for each write under way: it has a connection while it waits for other writes,
	// and readers must find one free.
	turns chan struct{}
	feed  *poller
}

func (i *inserter) commit(ctx context.Context, e *server.Event) (int64, error) {
	select {
	case i.turns <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-i.turns }()
	ctx, done := patient(ctx, i.table.patience)
	defer done()
	revision, err := i.table.Insert(ctx, e.KV.Key, e.Create, e.Delete, e.PrevKV.ModRevision,
		e.KV.Lease, e.KV.Value)
	if err == nil && revision == 0 { // the key has a newer row
		err = server.ErrKeyExists
	}
	if err == nil {
		i.feed.wake()
	}
	return revision, err
}

// alone implements committer: PostgreSQL has room for a compaction beside writes.
func (i *inserter) alone(_ context.Context, do func() error) error { return do() }

func (i *inserter) newest(ctx context.Context) (int64, error) { return i.table.newest(ctx) }
