package kine

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxRequest is how large a request may be, as for a client of etcd.
const maxRequest = 2 << 20

// direct is the client's etcdserverpb.KVClient. It buys time and memory of each read and write:
// they are calls of the server and no messages over a connection, whose packing and unpacking would
// double what a read costs. Watches go through the connection. Without it (Store.client.KV is left
// as it is) reads and writes go there, too.
type direct struct {
	server etcdserverpb.KVServer
	run    context.Context // no call outlives it
	cancel context.CancelFunc
	store  *Store

	mu    sync.RWMutex // held for writing when run ends
	calls sync.WaitGroup
}

// errNoStreams is what a client that asks for a stream of a range is told.
var errNoStreams = status.Error(codes.Unimplemented, "lists are not streamed")

func newDirect(server etcdserverpb.KVServer, store *Store) *direct {
	d := &direct{server: server, store: store}
	d.run, d.cancel = context.WithCancel(context.Background())
	return d
}

// end gives up all calls, and returns when there is none.
func (d *direct) end() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.calls.Wait()
}

func (d *direct) begin() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.run.Err() != nil {
		return status.Error(codes.Canceled, "the store is closed")
	}
	d.calls.Add(1)
	return nil
}

// call does a request. Its errors are those that a connection would carry.
func call[Q proto.Message, A any](ctx context.Context, d *direct, q Q,
	do func(context.Context, Q) (*A, error)) (*A, error) {
	if n := proto.Size(q); n > maxRequest {
		return nil, status.Errorf(codes.ResourceExhausted,
			"a request of %d bytes is larger than %d", n, maxRequest)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	if err := d.begin(); err != nil {
		return nil, err
	}
	defer d.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.run, cancel)()
	a, err := do(ctx, q)
	if err = d.store.inWords(err); err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.FromContextError(err).Err()
		}
		return nil, err
	}
	return a, nil
}

func (d *direct) Range(ctx context.Context, q *etcdserverpb.RangeRequest,
	_ ...grpc.CallOption) (*etcdserverpb.RangeResponse, error) {
	return call(ctx, d, q, d.server.Range)
}

// RangeStream has an API server read by Range: a stream would hold a read of the table open for as
// long as its client takes, in the way of checkpoints.
func (d *direct) RangeStream(context.Context, *etcdserverpb.RangeRequest,
	...grpc.CallOption) (etcdserverpb.KV_RangeStreamClient, error) {
	return nil, errNoStreams
}

func (d *direct) Put(ctx context.Context, q *etcdserverpb.PutRequest,
	_ ...grpc.CallOption) (*etcdserverpb.PutResponse, error) {
	return call(ctx, d, q, d.server.Put)
}

func (d *direct) DeleteRange(ctx context.Context, q *etcdserverpb.DeleteRangeRequest,
	_ ...grpc.CallOption) (*etcdserverpb.DeleteRangeResponse, error) {
	return call(ctx, d, q, d.server.DeleteRange)
}

func (d *direct) Txn(ctx context.Context, q *etcdserverpb.TxnRequest,
	_ ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	return call(ctx, d, q, d.server.Txn)
}

func (d *direct) Compact(ctx context.Context, q *etcdserverpb.CompactionRequest,
	_ ...grpc.CallOption) (*etcdserverpb.CompactionResponse, error) {
	return call(ctx, d, q, d.server.Compact)
}
