package etcd

import (
	"context"
	"io"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// streaming is a cluster with one answer.
type streaming struct {
	etcdserverpb.KVClient
	etcdserverpb.KV_RangeStreamClient
	asked  *etcdserverpb.RangeRequest
	answer []*etcdserverpb.RangeStreamResponse
}

func (s *streaming) RangeStream(_ context.Context, r *etcdserverpb.RangeRequest,
	_ ...grpc.CallOption) (etcdserverpb.KV_RangeStreamClient, error) {
	s.asked = r
	return s, nil
}

func (s *streaming) Recv() (*etcdserverpb.RangeStreamResponse, error) {
	if len(s.answer) == 0 {
		return nil, io.EOF
	}
	next := s.answer[0]
	s.answer = s.answer[1:]
	return next, nil
}

// A stream has the revisions that a range has.
func TestStreamsAreShifted(t *testing.T) {
	part := func(header *etcdserverpb.ResponseHeader, revision int64) *etcdserverpb.RangeStreamResponse {
		return &etcdserverpb.RangeStreamResponse{RangeResponse: &etcdserverpb.RangeResponse{Header: header,
			Kvs: []*mvccpb.KeyValue{{Key: []byte("/a"), ModRevision: revision, CreateRevision: 2}}}}
	}
	cluster := &streaming{answer: []*etcdserverpb.RangeStreamResponse{part(nil, 3),
		part(&etcdserverpb.ResponseHeader{Revision: 9}, 4)}}
	kv := clientv3.NewKVFromKVClient(&shifted{cluster, 100}, nil)
	parts, err := kv.GetStream(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithRev(105))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for p := range parts {
		got = append(got, p.RangeResponse.Header.GetRevision(), p.RangeResponse.Kvs[0].ModRevision,
			p.RangeResponse.Kvs[0].CreateRevision)
	}
	if want := []int64{0, 103, 102, 109, 104, 102}; !slices.Equal(got, want) || cluster.asked.Revision != 5 {
		t.Errorf("asked at %d it answers %v, want %v", cluster.asked.Revision, got, want)
	}
}

// An answer about progress goes to all watches of a client, with one header.
func TestSharedHeadersAreShiftedOnce(t *testing.T) {
	header := &etcdserverpb.ResponseHeader{Revision: 9}
	w := &ledWatcher{by: 100}
	for range 2 {
		resp := clientv3.WatchResponse{Header: header}
		if w.shift(&resp); resp.Header.Revision != 109 || header.Revision != 9 {
			t.Errorf("it is %d, and %d for the next watch", resp.Header.Revision, header.Revision)
		}
	}
}
