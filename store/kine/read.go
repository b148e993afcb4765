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
// watch from there misses nothing; a read that breaks off is an error. An empty key means all keys,
// which the end of leases asks for.
func (b *backend) List(ctx context.Context, key, end string, limit, revision int64,
	keysOnly bool) (int64, []*server.KeyValue, error) {
	if key == "" {
		key, end = "/", "0" // all begin with a slash
	}
	r, err := b.table.list(ctx, key, end, limit, revision, false, keysOnly)
	if err != nil {
		return 0, nil, err
	}
	found := make([]*server.KeyValue, len(r.events))
	for i, e := range r.events {
		found[i] = e.KV
	}
	return r.current, found, nil
}

// ListStream implements server.Backend: see direct.RangeStream.
func (b *backend) ListStream(context.Context, string, string, int64, int64,
	bool) server.ListResult {
	none, errs := make(chan *server.KeyValue), make(chan error, 1)
	close(none)
	errs <- errNoStreams
	return server.ListResult{KVc: none, Errorc: errs}
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
		last = r.events[0]
	}
	return r.current, last, nil
}
