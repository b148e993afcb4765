package kine

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/k3s-io/kine/pkg/server"
)

// sharedBackend is kine's backend of a database that others write to as well: what kine remembers of the newest revision is its own
// writes' alone then.
type sharedBackend struct {
	server.Backend
	db    *sql.DB
	feed  *feed
	turns chan struct{} // those who write, and so have a connection while they wait for other writes
}

// turn waits until a write may begin. What it returns ends it.
func (b *sharedBackend) turn(ctx context.Context) (func(), error) {
	select {
	case b.turns <- struct{}{}:
		return func() { <-b.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *sharedBackend) Create(ctx context.Context, key string, value []byte, lease int64) (int64, error) {
	end, err := b.turn(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	ctx, done := patient(ctx)
	defer done()
	return b.Backend.Create(ctx, key, value, lease)
}

func (b *sharedBackend) Update(ctx context.Context, key string, value []byte, old, lease int64) (int64, *server.KeyValue, bool, error) {
	end, err := b.turn(ctx)
	if err != nil {
		return 0, nil, false, err
	}
	defer end()
	ctx, done := patient(ctx)
	defer done()
	return b.Backend.Update(ctx, key, value, old, lease)
}

func (b *sharedBackend) Delete(ctx context.Context, key string, old int64) (int64, *server.KeyValue, bool, error) {
	end, err := b.turn(ctx)
	if err != nil {
		return 0, nil, false, err
	}
	defer end()
	ctx, done := patient(ctx)
	defer done()
	return b.Backend.Delete(ctx, key, old)
}

func (b *sharedBackend) CurrentRevision(ctx context.Context) (revision int64, err error) {
	ctx, done := patient(ctx)
	defer done()
	err = b.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(id), 0) FROM kine`).Scan(&revision)
	return revision, err
}

func (b *sharedBackend) published() *feed { return b.feed }

// all begins to read what all replicas write from now on.
func (b *sharedBackend) all(ctx context.Context) (<-chan []*server.Event, error) {
	newest, err := b.CurrentRevision(ctx)
	if err != nil {
		return nil, err
	}
	result := b.Backend.Watch(ctx, "", "", newest+1)
	b.feed.restart(newest)
	return result.Events, nil
}

// publish gives watches what all replicas write, as kine's poll loop finds it, until run ends. Where that loses its place all watches end, and begin
// again from what they have seen.
func (b *sharedBackend) publish(run context.Context, events <-chan []*server.Event, log *slog.Logger) {
	for {
		for found := range events {
			b.feed.publish(found)
		}
		if run.Err() != nil {
			return
		}
		var err error
		for events, err = b.all(run); err != nil; events, err = b.all(run) {
			log.Warn("what other replicas write is not seen", "err", err)
			select {
			case <-time.After(time.Second):
			case <-run.Done():
				return
			}
		}
	}
}
