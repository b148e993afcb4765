package kine

import (
	"context"
	"errors"

	"github.com/k3s-io/kine/pkg/server"
)

// ofOneRevision has what kine answers be of the revision that it says. kine asks for the newest revision once more, after what was read, where that was
// nothing (SQLLog.List) or not all there is (server.list, which counts the rest): a write in between is neither in the answer nor in a watch from there,
// and a watch cache that begins so never has it.
type ofOneRevision struct {
	server.Backend
	newest func(context.Context) (int64, error)
}

// List reads again, as of the revision that it tells, where it found nothing.
func (b ofOneRevision) List(ctx context.Context, key, end string, limit, revision int64, keysOnly bool) (int64, []*server.KeyValue, error) {
	at, found, err := b.listAt(ctx, key, end, limit, revision, keysOnly)
	if err != nil || revision > 0 || len(found) > 0 {
		return at, found, err
	}
	if at, err = b.newest(ctx); err != nil {
		return 0, nil, err
	}
	_, found, err = b.listAt(ctx, key, end, limit, at, keysOnly)
	return at, found, err
}

// listAt takes nothing for what it is. kine takes it for a revision of the future where it has not yet heard of that from another replica; its count asks the
// database.
func (b ofOneRevision) listAt(ctx context.Context, key, end string, limit, revision int64, keysOnly bool) (int64, []*server.KeyValue, error) {
	at, found, err := b.Backend.List(ctx, key, end, limit, revision, keysOnly)
	if errors.Is(err, server.ErrFutureRev) {
		at, _, err = b.Backend.Count(ctx, key, end, revision)
	}
	return at, found, err
}

// Get is List of one key.
func (b ofOneRevision) Get(ctx context.Context, key string, revision int64, keysOnly bool) (int64, *server.KeyValue, error) {
	at, found, err := b.List(ctx, key, "", 1, revision, keysOnly)
	if err != nil || len(found) == 0 {
		return at, nil, err
	}
	return at, found[0], nil
}

// Count tells the revision that it was asked for, and no newer one.
func (b ofOneRevision) Count(ctx context.Context, key, end string, revision int64) (int64, int64, error) {
	at, n, err := b.Backend.Count(ctx, key, end, revision)
	if err == nil && revision > 0 {
		at = revision
	}
	return at, n, err
}
