package kine

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/k3s-io/kine/pkg/server"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

func TestCopyOfPostgres(t *testing.T) { copies(t, storetest.StartPostgres(t).Endpoint) }

func TestCopyOfEtcd(t *testing.T) { copies(t, storetest.StartEtcd(t, 1).Endpoint) }

// copies checks that a copy of a shared database is a file that goes on where that was: the same
// keys with the same revisions, incarnation and eras, and later revisions for later writes.
func copies(t *testing.T, endpoint string) {
	s, err := Open(t.Context(), Config{Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	eras, err := s.BeginEra(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*copyPage/2 + 1
	for i := range n {
		create(t, s, fmt.Sprintf("/registry/t/%04d", i), fmt.Sprint(i))
	}
	first, err := s.Client().Get(t.Context(), "/registry/t/0000", kubernetes.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().OptimisticPut(t.Context(), "/registry/t/0000", []byte("again"), first.KV.ModRevision,
		kubernetes.PutOptions{GetOnFailure: true}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Client().Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().OptimisticPut(t.Context(), "/registry/events/a", []byte("x"), 0,
		kubernetes.PutOptions{LeaseID: lease.ID}); err != nil {
		t.Fatal(err)
	}
	for _, deleted := range []bool{false, true} { // the newest revision is one of a key, and is not
		if deleted {
			last, err := s.Client().Get(t.Context(), "/registry/t/0001", kubernetes.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Client().OptimisticDelete(t.Context(), "/registry/t/0001", last.KV.ModRevision,
				kubernetes.DeleteOptions{GetOnFailure: true}); err != nil {
				t.Fatal(err)
			}
		}
		want, err := s.Client().Client.Get(t.Context(), "/", clientv3.WithRange("0"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := s.Copy(t.Context(), filepath.Join(dir, FileName)); err != nil {
			t.Fatal(err)
		}
		facts, err := Inspect(t.Context(), filepath.Join(dir, FileName))
		if err != nil || facts.Incarnation != s.Incarnation() || facts.Revision != want.Header.Revision {
			t.Fatalf("the copy is %+v, %v, want revision %d", facts, err, want.Header.Revision)
		}
		restored := open(t, dir)
		defer restored.Close()
		got, err := restored.Client().Client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		want.Kvs = only(want.Kvs)
		got.Kvs = only(got.Kvs)
		if len(got.Kvs) != len(want.Kvs) {
			t.Fatalf("%d keys are in the copy, want %d", len(got.Kvs), len(want.Kvs))
		}
		for i, kv := range got.Kvs {
			w := want.Kvs[i]
			if string(kv.Key) != string(w.Key) || string(kv.Value) != string(w.Value) || kv.ModRevision != w.ModRevision ||
				kv.CreateRevision != w.CreateRevision {
				t.Fatalf("%v is in the copy, want %v", kv, w)
			}
			if string(kv.Key) == "/registry/events/a" && kv.Lease != 3600 {
				t.Errorf("the lease is %d", kv.Lease)
			}
		}
		if past := restored.Eras(); len(past) != len(eras)+1 || past[0] != eras[0] {
			t.Errorf("eras %v, want %v and one more", past, eras)
		}
		if next := create(t, restored, "/registry/t/next", "x"); next <= want.Header.Revision {
			t.Errorf("the next write has revision %d after %d", next, want.Header.Revision)
		}
	}
}

// only leaves out the key of kine's own health check.
func only(kvs []*mvccpb.KeyValue) (out []*mvccpb.KeyValue) {
	for _, kv := range kvs {
		if string(kv.Key) != server.HealthKey {
			out = append(out, kv)
		}
	}
	return out
}
