package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	compactInterval = 5 * time.Minute
	// minRetain is how many revisions are kept however old they are.
	minRetain = 1000
	// compactKey has the newest revision at the last compaction; its version counts those.
	compactKey = "compacted"
)

// compact removes, after each interval, what was superseded before it began. Of several replicas one
// does it: the version of a key is their clock. It ends with ctx.
func (c *Cluster) compact(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	version, revision := int64(0), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		v, newest, err := c.compactOnce(ctx, version, revision)
		if err == nil {
			version, revision = v, newest
		} else if ctx.Err() == nil {
			c.log.Warn("superseded revisions are kept; compaction is tried again", "err", err)
		}
	}
}

// compactOnce compacts up to a revision if no other replica has compacted since the given version of
// compactKey. It returns that version, and the newest revision, for the next time.
func (c *Cluster) compactOnce(ctx context.Context, version, revision int64) (int64, int64, error) {
	resp, err := c.meta.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(compactKey), "=", version)).
		Then(clientv3.OpPut(compactKey, strconv.FormatInt(revision, 10))).
		Else(clientv3.OpGet(compactKey)).Commit()
	if err != nil {
		return 0, 0, err
	}
	newest := resp.Header.Revision
	if !resp.Succeeded {
		version = 0
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			version = kvs[0].Version
		}
		return version, newest, nil
	}
	if to := min(revision, newest-minRetain); to > 0 {
		if _, err := c.meta.Compact(ctx, to); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return 0, 0, err
		}
	}
	return version + 1, newest, nil
}
