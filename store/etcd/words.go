package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// spoken is a KVClient whose errors are told in words.
type spoken struct {
	etcdserverpb.KVClient
	inWords func(error) error
}

// told returns an error as its caller is told it. A request that is too large is the caller's error,
// with the code that gRPC itself has for one.
func (s *spoken) told(err error) error {
	if errors.Is(rpctypes.Error(err), rpctypes.ErrRequestTooLarge) {
		return status.Error(codes.ResourceExhausted,
			"the request is larger than the etcd members take (--max-request-bytes, 1.5 MiB unless set)")
	}
	if err == nil || s.inWords == nil {
		return err
	}
	return s.inWords(err)
}

// Range implements etcdserverpb.KVClient.
func (s *spoken) Range(ctx context.Context, r *etcdserverpb.RangeRequest,
	o ...grpc.CallOption) (*etcdserverpb.RangeResponse, error) {
	a, err := s.KVClient.Range(ctx, r, o...)
	return a, s.told(err)
}

// Put implements etcdserverpb.KVClient.
func (s *spoken) Put(ctx context.Context, r *etcdserverpb.PutRequest,
	o ...grpc.CallOption) (*etcdserverpb.PutResponse, error) {
	a, err := s.KVClient.Put(ctx, r, o...)
	return a, s.told(err)
}

// DeleteRange implements etcdserverpb.KVClient.
func (s *spoken) DeleteRange(ctx context.Context, r *etcdserverpb.DeleteRangeRequest,
	o ...grpc.CallOption) (*etcdserverpb.DeleteRangeResponse, error) {
	a, err := s.KVClient.DeleteRange(ctx, r, o...)
	return a, s.told(err)
}

// Txn implements etcdserverpb.KVClient.
func (s *spoken) Txn(ctx context.Context, r *etcdserverpb.TxnRequest,
	o ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	a, err := s.KVClient.Txn(ctx, r, o...)
	return a, s.told(err)
}
