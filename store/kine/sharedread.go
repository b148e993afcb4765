package kine

import (
	"context"
	"errors"

	"github.com/k3s-io/kine/pkg/server"
)

// errBrokeOff is of a read that has less than there is: its connection was lost, and kine takes the rows until then for all (sqllog.RowsToEvents does not
// ask why they end).
var errBrokeOff = errors.New("the datastore's answer broke off; ask again")

// List counts what a list has to have.
func (b *sharedBackend) List(ctx context.Context, key, end string, limit, revision int64, keysOnly bool) (int64, []*server.KeyValue, error) {
	ctx, done := patient(ctx)
	defer done()
	at, found, err := b.Backend.List(ctx, key, end, limit, revision, keysOnly)
	if err != nil || len(found) == 0 || end == "" {
		return at, found, err
	}
	if revision == 0 {
		revision = at
	}
	_, n, err := b.Count(ctx, key, end, revision)
	if err != nil {
		return 0, nil, err
	}
	if limit > 0 {
		n = min(n, limit)
	}
	if int64(len(found)) != n {
		return 0, nil, errBrokeOff
	}
	return at, found, nil
}

// Get reads one key, which cannot break off.
func (b *sharedBackend) Get(ctx context.Context, key string, revision int64, keysOnly bool) (int64, *server.KeyValue, error) {
	ctx, done := patient(ctx)
	defer done()
	return b.Backend.Get(ctx, key, revision, keysOnly)
}

// Count counts keys.
func (b *sharedBackend) Count(ctx context.Context, key, end string, revision int64) (int64, int64, error) {
	ctx, done := patient(ctx)
	defer done()
	return b.Backend.Count(ctx, key, end, revision)
}

// past reads what was written to a range of keys after a revision, at least up to now.
func (b *sharedBackend) past(ctx context.Context, key, end string, after int64) (int64, server.Events, error) {
	ctx, done := patient(ctx)
	defer done()
	newest, err := b.CurrentRevision(ctx)
	if err != nil {
		return 0, nil, err
	}
	past, err := b.readPast(ctx, key, end, after)
	if err != nil {
		return 0, nil, err
	}
	until := 0 // the events up to newest
	for until < len(past) && past[until].KV.ModRevision <= newest {
		until++
	}
	var n int
	err = b.db.QueryRowContext(ctx, `
		SELECT COUNT(*) FROM kine WHERE ($1 = '' OR name = $1 OR name >= $1 AND name < $2) AND id > $3 AND id <= $4`, key, end, after, newest).Scan(&n)
	if err == nil && until < n {
		err = errBrokeOff
	}
	if err != nil {
		return 0, nil, err
	}
	if len(past) > 0 {
		after = past[len(past)-1].KV.ModRevision
	}
	return after, past, nil
}

// readPast has kine begin a watch, and ends it when that has told what was before.
func (b *sharedBackend) readPast(ctx context.Context, key, end string, after int64) (past server.Events, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from := after
	if from > 0 { // 0 is all there is
		from++
	}
	result := b.Backend.Watch(ctx, key, end, from)
	cancel() // it has been read, and no more is wanted
	if result.CompactRevision != 0 {
		return nil, &compactedError{result.CurrentRevision, result.CompactRevision}
	}
	for found := range result.Events {
		past = append(past, found...)
	}
	select {
	case err = <-result.Errorc:
	default:
	}
	return past, err
}
