package server

import (
	"context"

	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// recordStore is where decisions are stored: beside the objects of the spaces, and by compare and swap
// in the datastore itself. Only the leader writes.
type recordStore struct{ s *Server }

// Write implements scheduler.Records.
func (r recordStore) Write(ctx context.Context, k store.Key, value []byte, was int64) (int64, bool, error) {
	if r.s.lead != nil && !r.s.lead.holds() {
		return 0, false, scheduler.ErrFenced
	}
	client, key := r.s.store.Client(), registrykey.Record(k.Space, k.Name)
	if value == nil {
		answer, err := client.OptimisticDelete(ctx, key, was, kubernetes.DeleteOptions{GetOnFailure: true})
		return answer.Revision, answer.Succeeded, err
	}
	// kine takes just these forms: an update reads what is there when it fails, a creation does not.
	answer, err := client.OptimisticPut(ctx, key, value, was, kubernetes.PutOptions{GetOnFailure: was != 0})
	return answer.Revision, answer.Succeeded, err
}
