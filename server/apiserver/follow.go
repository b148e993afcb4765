package apiserver

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// listPage is how many keys one read of a listing asks for.
const listPage = 500

// follower receives the keys below a prefix: first all of them as of one revision, then every change in order. After a loss of
// history (compaction while it was too slow) reset is called again.
type follower interface {
	reset(revision int64, all []*mvccpb.KeyValue) error
	change(e *clientv3.Event) error
	// progress says that every change up to revision has been given.
	progress(revision int64)
}

// follow returns when ctx ends or the follower returns an error. A watch that the store drops because its reader is slow is taken
// up again where it ended.
func follow(ctx context.Context, c *clientv3.Client, prefix string, f follower) error {
	for ctx.Err() == nil {
		rev, all, err := listAll(ctx, c, prefix)
		if err != nil {
			return err
		}
		if err := f.reset(rev, all); err != nil {
			return err
		}
		all = nil //nolint:ineffassign // the listing is large and must not live as long as the watch
		for err == nil && ctx.Err() == nil {
			rev, err = watchFrom(ctx, c, prefix, rev, f)
		}
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// listAll reads all keys below prefix as of one revision, with their values unless the options say otherwise.
func listAll(ctx context.Context, c *clientv3.Client, prefix string, more ...clientv3.OpOption) (int64, []*mvccpb.KeyValue, error) {
	var all []*mvccpb.KeyValue
	from, end, rev := prefix, clientv3.GetPrefixRangeEnd(prefix), int64(0)
	for {
		resp, err := c.Get(ctx, from, append(more, clientv3.WithRange(end), clientv3.WithLimit(listPage), clientv3.WithRev(rev))...)
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
func watchFrom(ctx context.Context, c *clientv3.Client, prefix string, after int64, f follower) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return give(c.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1), clientv3.WithProgressNotify()), after, f)
}

// give hands over what a watch says until it ends. The store repeats what was there when the watch began, and that alone is left out: only a
// change that was given tells how far the changes are, never an answer without one.
func give(watch clientv3.WatchChan, after int64, f follower) (int64, error) {
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
			if err := f.change(e); err != nil {
				return after, err
			}
			after = e.Kv.ModRevision
		}
		f.progress(after)
	}
	return after, nil
}
