package kine

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// lost takes a failed request for one whose connection to a shared database was lost, which may
// happen: pgx v5.10.0 hands what a canceled request left of its deadline to the next one (pgconn's
// background reader), and a write may be done nevertheless.
func (o *ordering) lost(s *Store, err error) bool {
	if err == nil || !s.Shared() || o.t.Context().Err() != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losses++
	return o.losses < 1000
}

// newest is the revision of the newest write.
func (o *ordering) newest(ctx context.Context) int64 {
	for {
		newest, err := o.stores[0].Revision(ctx)
		switch {
		case o.lost(o.stores[0], err):
			continue
		case err != nil:
			o.t.Error(err)
		}
		return newest
	}
}

// errToldAsConflict is of a write that kine says is in conflict with what it was to replace.
var errToldAsConflict = errors.New("told as a conflict")

// tried is how a write was answered.
type tried struct {
	succeeded bool
	revision  int64
	there     *mvccpb.KeyValue
}

func (c *change) try(ctx context.Context, s *Store, last int64) (tried, error) {
	if c.deleted {
		done, err := s.Client().OptimisticDelete(ctx, c.key, last,
			kubernetes.DeleteOptions{GetOnFailure: true})
		return tried{done.Succeeded, done.Revision, done.KV}, err
	}
	done, err := s.Client().OptimisticPut(ctx, c.key, []byte(c.value), last,
		kubernetes.PutOptions{GetOnFailure: true})
	return tried{done.Succeeded, done.Revision, done.KV}, err
}

// deletedAt finds out when a key was deleted of which that was not acknowledged.
func deletedAt(ctx context.Context, s *Store, key string, last int64) int64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for told := range s.Client().Watch(ctx, key, clientv3.WithRev(last+1)) {
		for _, e := range told.Events {
			return e.Kv.ModRevision
		}
	}
	return 0
}
