package apiserver

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/queue"
)

// settler follows the keys below a prefix, in all spaces, and settles what they name, one thing after another and each until that succeeds.
type settler[T comparable] struct {
	client *clientv3.Client
	prefix string
	queue  queue.Queue[T]
	// note queues what a key names that was written, gone the same of one that was deleted; nil when nothing is to be done then.
	note, gone func(*mvccpb.KeyValue)
	settle     func(context.Context, T) error
	failed     func(T, error)
}

// run settles until ctx ends.
func (s *settler[T]) run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	all.Go(func() { queue.Drain(ctx, s.queue, s.settle, s.failed) })
	return follow.Prefix(ctx, s.client, s.prefix, s)
}

func (s *settler[T]) Reset(_ int64, all []*mvccpb.KeyValue) error {
	for _, kv := range all {
		s.note(kv)
	}
	return nil
}

func (s *settler[T]) Change(e *clientv3.Event) error {
	if e.Type != clientv3.EventTypeDelete {
		s.note(e.Kv)
	} else if s.gone != nil {
		s.gone(e.Kv)
	}
	return nil
}

func (*settler[T]) Progress(int64) {}
