package kine

import (
	"context"

	"github.com/k3s-io/kine/pkg/server"
)

// Get implements server.Backend.
func (b *backend) Get(ctx context.Context, key string, revision int64, keysOnly bool) (int64,
	*server.KeyValue, error) {
	at, found, err := b.List(ctx, key, "", 1, revision, keysOnly)
	if err != nil || len(found) == 0 {
		return at, nil, err
	}
	return at, found[0], nil
}

// List implements server.Backend: what is there at a revision, or now if that is 0. An empty end
// means the one key. What it returns is all there is at the revision that it returns, so that a
// watch from there misses nothing; a read that breaks off is an error.
func (b *backend) List(ctx context.Context, key, end string, limit, revision int64,
	keysOnly bool) (int64, []*server.KeyValue, error) {
	r, err := b.table.list(ctx, key, end, limit, revision, false, keysOnly)
	if err == nil && len(r.events) == 0 && revision == 0 {
		// No row told the revision. Read again, as of one that is known.
		if revision, err = b.table.newest(ctx); err == nil {
			r, err = b.table.list(ctx, key, end, limit, revision, false, keysOnly)
			r.current = revision
		}
	}
	if err != nil {
		return 0, nil, err
	}
	found := make([]*server.KeyValue, len(r.events))
	for i, e := range r.events {
		found[i] = e.KV
	}
	return r.current, found, nil
}

// Count implements server.Backend. It returns the revision that it was asked for, and no newer one.
func (b *backend) Count(ctx context.Context, key, end string, revision int64) (int64, int64,
	error) {
	return b.table.count(ctx, key, end, revision)
}

// last returns the newest row of a key, also if that deletes it, and a revision at which it is the
// newest. It is nil if the key has none.
func (b *backend) last(ctx context.Context, key string, keysOnly bool) (at int64,
	last *server.Event, err error) {
	r, err := b.table.list(ctx, key, "", 1, 0, true, keysOnly)
	if err != nil {
		return 0, nil, err
	}
	if len(r.events) > 0 {
		return r.current, r.events[0], nil
	}
	at, err = b.table.newest(ctx)
	return at, nil, err
}
