package controllers

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/queue"
)

// reconciler follows the keys below a prefix, in all spaces. It reconciles what they name, one thing after another, and
// each until that succeeds.
type reconciler[T comparable] struct {
	client *clientv3.Client
	prefix string
	queue  queue.Queue[T]
	// note queues what a key names that was written, gone the same of one that was deleted; nil when nothing is to be done then.
	note, gone func(*mvccpb.KeyValue)
	reconcile  func(context.Context, T) error
	failed     func(T, error)
}

// Run reconciles until ctx ends.
func (s *reconciler[T]) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	all.Go(func() { queue.Drain(ctx, s.queue, s.reconcile, s.failed) })
	return follow.Prefix(ctx, s.client, s.prefix, s)
}

// Reset implements follow.Handler.
func (s *reconciler[T]) Reset(_ int64, all []*mvccpb.KeyValue) error {
	for _, kv := range all {
		s.note(kv)
	}
	return nil
}

// Change implements follow.Handler.
func (s *reconciler[T]) Change(e *clientv3.Event) error {
	if e.Type != clientv3.EventTypeDelete {
		s.note(e.Kv)
	} else if s.gone != nil {
		s.gone(e.Kv)
	}
	return nil
}

// Progress implements follow.Handler.
func (*reconciler[T]) Progress(int64) {}
