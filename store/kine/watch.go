package kine

import (
	"context"
	"errors"

	"github.com/k3s-io/kine/pkg/server"
)

// Watch gives what was written to a range of keys from a revision on, and then what is written.
func (b *fileBackend) Watch(ctx context.Context, key, end string, revision int64) server.WatchResult {
	events, failed := make(chan []*server.Event, 1), make(chan error, 1)
	result := server.WatchResult{Events: events, Errorc: failed}
	w := b.log.feed.watch(key, end) // before the database is read: nothing falls in between
	after := revision
	if after > 1 {
		after--
	}
	newest, past, err := b.log.After(ctx, key, end, after, 0)
	if err != nil {
		w.stop()
		close(events)
		switch {
		case errors.Is(err, server.ErrCompacted):
			result.CurrentRevision = newest
			result.CompactRevision, _ = b.log.CompactRevision(ctx)
		case !errors.Is(err, context.Canceled):
			failed <- server.ErrGRPCUnhealthy
		}
		return result
	}
	if len(past) > 0 {
		events <- past
		after = newest
	}
	go forward(ctx, w, after, events)
	return result
}

// WaitForSyncTo returns when whoever watches was handed all events up to a revision: what he is told next is true then.
func (b *fileBackend) WaitForSyncTo(revision int64) {
	b.syncing.Add(1)
	defer b.syncing.Done()
	b.log.feed.waitFor(revision)
}

// Watch is that of kine's log, of which only the end of leases makes use.
func (l *groupLog) Watch(ctx context.Context, key, end string) <-chan server.Events {
	events := make(chan server.Events)
	go forward(ctx, l.feed.watch(key, end), 0, events)
	return events
}

// WaitForSyncTo is fileBackend's.
func (l *groupLog) WaitForSyncTo(revision int64) { l.feed.waitFor(revision) }
