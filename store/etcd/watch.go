package etcd

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// leaderPause is how long the end of a watch at a member without a leader is held back. Who watches
// begins again at once, and a hundred caches would do so a thousand times a second each.
const leaderPause = time.Second

// ledWatcher is a Watcher whose watches end at a member that has no leader: it would be silent, and
// another member has the events. Its revisions are those of shifted.
type ledWatcher struct {
	clientv3.Watcher
	by   int64
	log  *slog.Logger
	lost atomic.Bool // no member that was asked last has a leader
}

// Watch implements clientv3.Watcher.
func (w *ledWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	if w.by > 0 {
		asked := clientv3.OpGet(key, opts...)
		opts = append(opts[:len(opts):len(opts)], clientv3.WithRev(shiftIn(asked.Rev(), w.by)))
	}
	in, out := w.Watcher.Watch(clientv3.WithRequireLeader(ctx), key, opts...), make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for resp := range in {
			w.note(ctx, &resp)
			w.shift(&resp)
			select {
			case out <- resp:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// shift makes the revisions of a response those of shifted. The client goes on by the events that it
// has, and several watches have the same header, so those stay as they are.
func (w *ledWatcher) shift(resp *clientv3.WatchResponse) {
	if w.by == 0 {
		return
	}
	if resp.Header.Revision > 0 {
		resp.Header = proto.CloneOf(resp.Header)
		resp.Header.Revision += w.by
	}
	if resp.CompactRevision > 0 {
		resp.CompactRevision += w.by
	}
	events := make([]*clientv3.Event, len(resp.Events))
	for i, e := range resp.Events {
		events[i] = &clientv3.Event{Type: e.Type, Kv: copiedOut(e.Kv, w.by), PrevKv: copiedOut(e.PrevKv, w.by)}
	}
	resp.Events = events
}

func copiedOut(kv *mvccpb.KeyValue, by int64) *mvccpb.KeyValue {
	if kv == nil {
		return nil
	}
	out := proto.CloneOf(kv)
	keyOut(out, by)
	return out
}

// note says when the cluster has lost its leader, and when it has one again.
func (w *ledWatcher) note(ctx context.Context, resp *clientv3.WatchResponse) {
	switch {
	case errors.Is(resp.Err(), rpctypes.ErrNoLeader):
		if w.lost.CompareAndSwap(false, true) {
			w.log.Warn("etcd has no leader: nothing is written until most of its members are there")
		}
		select {
		case <-time.After(leaderPause):
		case <-ctx.Done():
		}
	case len(resp.Events) > 0 || resp.IsProgressNotify():
		if w.lost.CompareAndSwap(true, false) {
			w.log.Info("etcd has a leader again")
		}
	}
}

// RequestProgress implements clientv3.Watcher: it asks on the stream of those watches.
func (w *ledWatcher) RequestProgress(ctx context.Context) error {
	return w.Watcher.RequestProgress(clientv3.WithRequireLeader(ctx))
}
