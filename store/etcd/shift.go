package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// shifted is a KVClient whose revisions are those of the cluster and so many more. Nobody can set
// the revision of a cluster, and what clients and sites have seen of a center before it was restored
// must not seem newer than what is written after. What is older than the restore is compacted.
type shifted struct {
	etcdserverpb.KVClient
	by int64
}

// in is a revision as the cluster has it. Zero, which stands for now, stays.
func (s *shifted) in(revision int64) int64 { return shiftIn(revision, s.by) }

func shiftIn(revision, by int64) int64 {
	if revision <= 0 {
		return revision
	}
	return max(1, revision-by) // 1 is compacted
}

// Range implements etcdserverpb.KVClient.
func (s *shifted) Range(ctx context.Context, r *etcdserverpb.RangeRequest,
	o ...grpc.CallOption) (*etcdserverpb.RangeResponse, error) {
	a, err := s.KVClient.Range(ctx, s.rangeIn(r), o...)
	s.rangeOut(a)
	return a, err
}

// RangeStream implements etcdserverpb.KVClient.
func (s *shifted) RangeStream(ctx context.Context, r *etcdserverpb.RangeRequest,
	o ...grpc.CallOption) (etcdserverpb.KV_RangeStreamClient, error) {
	stream, err := s.KVClient.RangeStream(ctx, s.rangeIn(r), o...)
	return &shiftedStream{stream, s}, err
}

// shiftedStream is a stream of answers whose revisions are those of shifted.
type shiftedStream struct {
	etcdserverpb.KV_RangeStreamClient
	shifted *shifted
}

// Recv implements etcdserverpb.KV_RangeStreamClient.
func (s *shiftedStream) Recv() (*etcdserverpb.RangeStreamResponse, error) {
	a, err := s.KV_RangeStreamClient.Recv()
	s.shifted.rangeOut(a.GetRangeResponse())
	return a, err
}

// Put implements etcdserverpb.KVClient.
func (s *shifted) Put(ctx context.Context, r *etcdserverpb.PutRequest,
	o ...grpc.CallOption) (*etcdserverpb.PutResponse, error) {
	a, err := s.KVClient.Put(ctx, r, o...)
	s.putOut(a)
	return a, err
}

// DeleteRange implements etcdserverpb.KVClient.
func (s *shifted) DeleteRange(ctx context.Context, r *etcdserverpb.DeleteRangeRequest,
	o ...grpc.CallOption) (*etcdserverpb.DeleteRangeResponse, error) {
	a, err := s.KVClient.DeleteRange(ctx, r, o...)
	s.deleteOut(a)
	return a, err
}

// Txn implements etcdserverpb.KVClient.
func (s *shifted) Txn(ctx context.Context, r *etcdserverpb.TxnRequest,
	o ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	a, err := s.KVClient.Txn(ctx, s.txnIn(r), o...)
	s.txnOut(a)
	return a, err
}

// Compact implements etcdserverpb.KVClient.
func (s *shifted) Compact(ctx context.Context, r *etcdserverpb.CompactionRequest,
	o ...grpc.CallOption) (*etcdserverpb.CompactionResponse, error) {
	inner := proto.CloneOf(r)
	inner.Revision = s.in(r.Revision)
	a, err := s.KVClient.Compact(ctx, inner, o...)
	if a != nil {
		s.headerOut(a.Header)
	}
	return a, err
}

func (s *shifted) rangeIn(r *etcdserverpb.RangeRequest) *etcdserverpb.RangeRequest {
	inner := proto.CloneOf(r)
	for _, revision := range []*int64{&inner.Revision, &inner.MinModRevision, &inner.MaxModRevision,
		&inner.MinCreateRevision, &inner.MaxCreateRevision} {
		*revision = s.in(*revision)
	}
	return inner
}

func (s *shifted) txnIn(r *etcdserverpb.TxnRequest) *etcdserverpb.TxnRequest {
	return &etcdserverpb.TxnRequest{Compare: s.comparesIn(r.Compare), Success: s.opsIn(r.Success),
		Failure: s.opsIn(r.Failure)}
}

func (s *shifted) opsIn(ops []*etcdserverpb.RequestOp) []*etcdserverpb.RequestOp {
	out := make([]*etcdserverpb.RequestOp, len(ops))
	for i, op := range ops {
		out[i] = op
		switch request := op.Request.(type) {
		case *etcdserverpb.RequestOp_RequestRange:
			out[i] = &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{
				RequestRange: s.rangeIn(request.RequestRange)}}
		case *etcdserverpb.RequestOp_RequestTxn:
			out[i] = &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{
				RequestTxn: s.txnIn(request.RequestTxn)}}
		}
	}
	return out
}

func (s *shifted) comparesIn(compares []*etcdserverpb.Compare) []*etcdserverpb.Compare {
	out := make([]*etcdserverpb.Compare, len(compares))
	for i, c := range compares {
		inner := proto.CloneOf(c)
		switch than := c.TargetUnion.(type) {
		case *etcdserverpb.Compare_ModRevision:
			inner.TargetUnion = &etcdserverpb.Compare_ModRevision{
				ModRevision: s.comparedIn(than.ModRevision, c.Result),
			}
		case *etcdserverpb.Compare_CreateRevision:
			inner.TargetUnion = &etcdserverpb.Compare_CreateRevision{
				CreateRevision: s.comparedIn(than.CreateRevision, c.Result)}
		}
		out[i] = inner
	}
	return out
}

// comparedIn is a revision with which those of a key are compared. A key that is not there has 0; a
// revision between that and the restore is of no key.
func (s *shifted) comparedIn(revision int64, how etcdserverpb.Compare_CompareResult) int64 {
	switch {
	case revision <= 0:
		return revision
	case revision > s.by:
		return revision - s.by
	case how == etcdserverpb.Compare_GREATER:
		return 0
	case how == etcdserverpb.Compare_LESS:
		return 1
	}
	return -1
}

func (s *shifted) headerOut(h *etcdserverpb.ResponseHeader) {
	if h != nil && h.Revision > 0 {
		h.Revision += s.by
	}
}

func (s *shifted) rangeOut(a *etcdserverpb.RangeResponse) {
	if a == nil {
		return
	}
	s.headerOut(a.Header)
	for _, kv := range a.Kvs {
		keyOut(kv, s.by)
	}
}

func (s *shifted) putOut(a *etcdserverpb.PutResponse) {
	if a != nil {
		s.headerOut(a.Header)
		keyOut(a.PrevKv, s.by)
	}
}

func (s *shifted) deleteOut(a *etcdserverpb.DeleteRangeResponse) {
	if a == nil {
		return
	}
	s.headerOut(a.Header)
	for _, kv := range a.PrevKvs {
		keyOut(kv, s.by)
	}
}

func (s *shifted) txnOut(a *etcdserverpb.TxnResponse) {
	if a == nil {
		return
	}
	s.headerOut(a.Header)
	for _, op := range a.Responses {
		switch answer := op.Response.(type) {
		case *etcdserverpb.ResponseOp_ResponseRange:
			s.rangeOut(answer.ResponseRange)
		case *etcdserverpb.ResponseOp_ResponsePut:
			s.putOut(answer.ResponsePut)
		case *etcdserverpb.ResponseOp_ResponseDeleteRange:
			s.deleteOut(answer.ResponseDeleteRange)
		case *etcdserverpb.ResponseOp_ResponseTxn:
			s.txnOut(answer.ResponseTxn)
		}
	}
}

func keyOut(kv *mvccpb.KeyValue, by int64) {
	if kv == nil {
		return
	}
	if kv.ModRevision > 0 {
		kv.ModRevision += by
	}
	if kv.CreateRevision > 0 {
		kv.CreateRevision += by
	}
}
