package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// PageSize is how many keys one read of a listing asks for.
const PageSize = 500

// Handler receives the keys below a prefix: first all as of one revision, then every change in
// order. After a loss of history (compaction while it was too slow) Reset is called again.
type Handler interface {
	Reset(revision int64, all []*mvccpb.KeyValue) error
	Change(e *clientv3.Event) error
	// Progress is called when every change up to revision has been given.
	Progress(revision int64)
}

// Prefix gives f the keys below a prefix. It returns when ctx ends or f returns an error. A watch
// that the store drops because its reader is slow continues where it ended.
func Prefix(ctx context.Context, c *clientv3.Client, prefix string, f Handler) error {
	for ctx.Err() == nil {
		rev, all, err := List(ctx, c, prefix)
		if err != nil {
			return err
		}
		if err := f.Reset(rev, all); err != nil {
			return err
		}
		all = nil //nolint:ineffassign // the listing is large and must not live as long as the watch
		for err == nil && ctx.Err() == nil {
			before := rev
			if rev, err = watchFrom(ctx, c, prefix, rev, f); err == nil && rev == before {
				pause(ctx) // an etcd without a leader ends it at once
			}
		}
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// pause waits before a watch that gave nothing begins again.
func pause(ctx context.Context) {
	const emptyPause = 100 * time.Millisecond
	select {
	case <-time.After(emptyPause):
	case <-ctx.Done():
	}
}

// List reads all keys below prefix as of one revision. It reads their values too, unless the
// options say otherwise.
func List(
	ctx context.Context,
	c *clientv3.Client,
	prefix string,
	more ...clientv3.OpOption,
) (int64, []*mvccpb.KeyValue, error) {
	var all []*mvccpb.KeyValue
	from, end, rev := prefix, clientv3.GetPrefixRangeEnd(prefix), int64(0)
	for {
		resp, err := c.Get(
			ctx,
			from,
			append(more, clientv3.WithRange(end), clientv3.WithLimit(PageSize), clientv3.WithRev(rev))...)
		if err != nil {
			return 0, nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		all = append(all, resp.Kvs...)
		if !resp.More || len(resp.Kvs) == 0 {
			return rev, all, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// watchFrom gives the changes after a revision and returns how far it got when the watch ends.
func watchFrom(ctx context.Context, c *clientv3.Client, prefix string, after int64, f Handler) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return give(
		c.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1), clientv3.WithProgressNotify()),
		after,
		f,
	)
}

// give hands over the events of a watch until it ends. It skips events up to after, because the
// store repeats what was there when the watch began. Only a change that was given moves the
// progress, never an answer without one.
func give(watch clientv3.WatchChan, after int64, f Handler) (int64, error) {
	for resp := range watch {
		if err := resp.Err(); err != nil {
			if resp.CompactRevision != 0 {
				return after, rpctypes.ErrCompacted
			}
			return after, nil // dropped as too slow, or closed: take it up again
		}
		for _, e := range resp.Events {
			if e.Kv.ModRevision <= after {
				continue
			}
			if err := f.Change(e); err != nil {
				return after, err
			}
			after = e.Kv.ModRevision
		}
		f.Progress(after)
	}
	return after, nil
}
