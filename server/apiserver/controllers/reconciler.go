package controllers

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/queue"
)

// reconciler follows the keys below a prefix, in all spaces. It reconciles what they name, one
// thing after another, and each until that succeeds.
type reconciler[T comparable] struct {
	client *clientv3.Client
	prefix string
	queue  queue.Queue[T]
	of     subject[T]
}

// subject is what a reconciler does its work for.
type subject[T comparable] interface {
	// written queues what a key names that was written, deleted what a key names that was deleted.
	written(*mvccpb.KeyValue)
	deleted(*mvccpb.KeyValue)
	// sync reconciles one thing. After an error it is tried again.
	sync(context.Context, T) error
	// failed logs why sync has to be tried again.
	failed(T, error)
}

// Run reconciles until ctx ends.
func (s *reconciler[T]) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	all.Go(func() { queue.Drain(ctx, s.queue, s.of.sync, s.of.failed) })
	return follow.Prefix(ctx, s.client, s.prefix, s)
}

// Reset implements follow.Handler.
func (s *reconciler[T]) Reset(_ int64, all []*mvccpb.KeyValue) error {
	for _, kv := range all {
		s.of.written(kv)
	}
	return nil
}

// Change implements follow.Handler.
func (s *reconciler[T]) Change(e *clientv3.Event) error {
	if e.Type != clientv3.EventTypeDelete {
		s.of.written(e.Kv)
	} else {
		s.of.deleted(e.Kv)
	}
	return nil
}

// Progress implements follow.Handler.
func (*reconciler[T]) Progress(int64) {}
