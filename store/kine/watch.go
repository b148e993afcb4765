package kine

import (
	"context"
	"errors"
	"sync"

	"github.com/k3s-io/kine/pkg/server"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watchServer is etcd's watch service. kine's own polls for the newest revision and tells each
// watch of a stream the progress of every other. Here a watch is sent progress by the feed that
// sends its events, after those.
type watchServer struct {
	etcdserverpb.UnsafeWatchServer
	backend *backend
}

// watchStream is a stream of a client, with any number of watches.
type watchStream struct {
	backend *backend
	stream  etcdserverpb.Watch_WatchServer
	running sync.WaitGroup

	sending sync.Mutex

	mu      sync.Mutex
	last    int64
	watches map[int64]*streamWatch
}

type streamWatch struct {
	*watch
	cancel context.CancelFunc
}

// Watch implements etcdserverpb.WatchServer.
func (s *watchServer) Watch(stream etcdserverpb.Watch_WatchServer) error {
	c := &watchStream{backend: s.backend, stream: stream, watches: map[int64]*streamWatch{}}
	ctx, cancel := context.WithCancel(stream.Context())
	defer c.running.Wait()
	defer cancel()
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		switch r := request.GetRequestUnion().(type) {
		case *etcdserverpb.WatchRequest_CreateRequest:
			c.create(ctx, r.CreateRequest)
		case *etcdserverpb.WatchRequest_CancelRequest:
			c.finish(r.CancelRequest.WatchId, &etcdserverpb.WatchResponse{})
		case *etcdserverpb.WatchRequest_ProgressRequest:
			c.progress()
		}
	}
}

func (c *watchStream) create(ctx context.Context, r *etcdserverpb.WatchCreateRequest) {
	if r.WatchId != clientv3.AutoWatchID || r.StartRevision < 0 {
		c.send(&etcdserverpb.WatchResponse{WatchId: clientv3.InvalidWatchID, Created: true,
			Canceled: true, CancelReason: server.ErrInvalidWatch.Error()})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	// Before the past is read: nothing falls in between.
	w := &streamWatch{c.backend.feed.watch(string(r.Key), string(r.RangeEnd), r.ProgressNotify),
		cancel}
	c.mu.Lock()
	c.last++
	id := c.last
	c.watches[id] = w
	c.mu.Unlock()
	c.running.Go(func() {
		defer w.stop()
		c.send(&etcdserverpb.WatchResponse{WatchId: id, Created: true})
		c.finish(id, c.serve(ctx, id, w, r.StartRevision))
	})
}

// finish ends a watch and tells its client, unless that was done.
func (c *watchStream) finish(id int64, told *etcdserverpb.WatchResponse) {
	c.mu.Lock()
	w := c.watches[id]
	delete(c.watches, id)
	c.mu.Unlock()
	if w == nil {
		return
	}
	w.cancel()
	told.WatchId, told.Canceled = id, true
	c.send(told)
}

// progress has all watches that want it be told how far they are.
func (c *watchStream) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		w.ask()
	}
}

// serve sends a watch what was written from a revision on, and then what is written, and returns
// why it ends.
func (c *watchStream) serve(ctx context.Context, id int64, w *streamWatch,
	from int64) *etcdserverpb.WatchResponse {
	err := c.backend.follow(ctx, w.watch, from, func(n news) {
		c.sendEvents(id, n.events)
		if n.progress > 0 {
			c.send(&etcdserverpb.WatchResponse{Header: header(n.progress), WatchId: id})
		}
	})
	var compacted *compactedError
	switch {
	case errors.As(err, &compacted):
		return &etcdserverpb.WatchResponse{Header: header(compacted.current),
			CompactRevision: compacted.compact, CancelReason: compacted.Error()}
	case err != nil && ctx.Err() == nil:
		return &etcdserverpb.WatchResponse{CancelReason: server.ErrGRPCUnhealthy.Error()}
	}
	return &etcdserverpb.WatchResponse{}
}

func (c *watchStream) sendEvents(id int64, events []*server.Event) {
	if len(events) == 0 {
		return
	}
	told := make([]*mvccpb.Event, len(events))
	for i, e := range events {
		told[i] = toEvent(e)
	}
	c.send(&etcdserverpb.WatchResponse{Header: header(events[len(events)-1].KV.ModRevision),
		WatchId: id, Events: told})
}

// send sends a response. An error means that the stream has ended, which Recv returns, too.
func (c *watchStream) send(told *etcdserverpb.WatchResponse) {
	if told.Header == nil {
		told.Header = header(0)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.stream.Send(told)
}

func header(revision int64) *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: revision}
}

func toEvent(e *server.Event) *mvccpb.Event {
	told := &mvccpb.Event{Kv: toKeyValue(e.KV)}
	if !e.Create {
		told.PrevKv = toKeyValue(e.PrevKV)
	}
	if e.Delete {
		told.Type = mvccpb.Event_DELETE
	}
	return told
}

func toKeyValue(kv *server.KeyValue) *mvccpb.KeyValue {
	if kv == nil {
		return nil
	}
	return &mvccpb.KeyValue{Key: []byte(kv.Key), Value: kv.Value, Version: kv.Version,
		Lease: kv.Lease, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision}
}
