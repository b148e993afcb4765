package follow

import (
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// notes is a follower that writes down what it is given.
type notes struct{ changes, reached []int64 }

func (n *notes) Reset(int64, []*mvccpb.KeyValue) error { return nil }
func (n *notes) Progress(revision int64)               { n.reached = append(n.reached, revision) }
func (n *notes) Change(e *clientv3.Event) error {
	n.changes = append(n.changes, e.Kv.ModRevision)
	return nil
}

// Only changes tell how far a watch is. What comes after an answer that claims more is given all
// the same, and what comes twice is given once.
func TestGiveLosesNothing(t *testing.T) {
	answer := func(header int64, revisions ...int64) clientv3.WatchResponse {
		r := clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: header}}
		for _, revision := range revisions {
			r.Events = append(
				r.Events,
				&clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte("/registry/a"), ModRevision: revision}},
			)
		}
		return r
	}
	watch := make(chan clientv3.WatchResponse, 10)
	for _, r := range []clientv3.WatchResponse{
		answer(101, 100, 101),
		answer(105),
		answer(105, 103, 104),
		answer(105, 105),
		answer(200),
	} {
		watch <- r
	}
	close(watch)
	var n notes
	after, err := give(watch, 100, &n)
	if err != nil || after != 105 || !slices.Equal(n.changes, []int64{101, 103, 104, 105}) {
		t.Errorf("gave %v up to %d, %v; want 101 103 104 105", n.changes, after, err)
	}
	if !slices.Equal(n.reached, []int64{101, 101, 104, 105, 105}) {
		t.Errorf("claimed %v", n.reached)
	}
}
