package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"skerry.dev/skerry/store/restore"
)

const (
	// writers is how many keys are under way at once: the members make many durable together.
	writers = 32
	// leaseKeys is how many keys share a lease.
	leaseKeys = 1000
)

// keys writes each key with a revision of its own, as a center does.
func (r *restoring) keys(
	ctx context.Context,
	from restore.Content,
	count func(done, total int),
) error {
	work, ctx := errgroup.WithContext(ctx)
	todo := make(chan restore.Key)
	leases := &grantedLeases{lease: r.cluster.client.Lease, granted: map[int64]*sharedLease{}}
	var mu sync.Mutex
	done := 0
	for range writers {
		work.Go(func() error {
			for k := range todo {
				if err := r.key(ctx, leases, k); err != nil {
					return fmt.Errorf("%s: %w", k.Name, err)
				}
				mu.Lock()
				if done++; count != nil {
					count(done, from.Len())
				}
				mu.Unlock()
			}
			return nil
		})
	}
	work.Go(func() error {
		defer close(todo)
		return from.Each(ctx, func(k restore.Key) error {
			select {
			case todo <- k:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	return work.Wait()
}

// key writes a key, once more if its lease has ended meanwhile.
func (r *restoring) key(ctx context.Context, leases *grantedLeases, k restore.Key) error {
	for again := true; ; again = false {
		lease, err := leases.of(ctx, k.Lease)
		if err != nil {
			return fmt.Errorf("grant a lease: %w", err)
		}
		_, err = r.write(
			ctx,
			clientv3.OpPut(r.cluster.address.prefix+k.Name, string(k.Value), clientv3.WithLease(lease)),
		)
		if !again || !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return err
		}
		leases.drop(k.Lease, lease)
	}
}

// grantedLeases are the leases of a restore, by for how many seconds they are granted.
type grantedLeases struct {
	lease   clientv3.Lease
	mu      sync.Mutex
	granted map[int64]*sharedLease
}

type sharedLease struct {
	id   clientv3.LeaseID
	keys int
}

// of returns a lease for one more key; no lease for no seconds.
func (g *grantedLeases) of(ctx context.Context, seconds int64) (clientv3.LeaseID, error) {
	if seconds <= 0 {
		return clientv3.NoLease, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.granted[seconds]
	if l == nil || l.keys == leaseKeys {
		resp, err := g.lease.Grant(ctx, seconds)
		if err != nil {
			return clientv3.NoLease, err
		}
		l = &sharedLease{id: resp.ID}
		g.granted[seconds] = l
	}
	l.keys++
	return l.id, nil
}

// drop forgets a lease that has ended.
func (g *grantedLeases) drop(seconds int64, id clientv3.LeaseID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.granted[seconds]; l != nil && l.id == id {
		delete(g.granted, seconds)
	}
}
