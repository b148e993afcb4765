package kine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/goleak"

	"skerry.dev/skerry/store/storetest/leak"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t *testing.T, s *Store, key, value string) int64 {
	t.Helper()
	resp, err := s.Client().OptimisticPut(t.Context(), key, []byte(value), 0,
		kubernetes.PutOptions{})
	if err != nil || !resp.Succeeded {
		t.Fatalf("create %s: %v", key, err)
	}
	return resp.Revision
}

// TestReopen checks that acknowledged writes, their revision and the incarnation survive, and that
// nothing runs after Close. (One goroutine of kine's waits for ever when it is closed before its
// own watch for leases has begun: nothing can end that.)
func TestReopen(t *testing.T) {
	defer leak.None(t, goleak.IgnoreCurrent(),
		goleak.IgnoreTopFunction("github.com/k3s-io/kine/pkg/logstructured.(*LogStructured).Watch.func1"))
	dir := t.TempDir()
	s := open(t, dir)
	incarnation := s.Incarnation()
	rev := create(t, s, "/registry/a", "one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer s.Close()
	got, err := s.Client().Get(t.Context(), "/registry/a", kubernetes.GetOptions{})
	if err != nil || got.KV == nil || string(got.KV.Value) != "one" || got.KV.ModRevision != rev {
		t.Errorf("after reopening: %+v, %v", got, err)
	}
	if s.Incarnation() != incarnation || incarnation.IsZero() {
		t.Errorf("incarnation %s became %s", incarnation, s.Incarnation())
	}
	if next := create(t, s, "/registry/b", "two"); next <= rev {
		t.Errorf("revision %d after %d", next, rev)
	}
	other := open(t, t.TempDir())
	defer other.Close()
	if other.Incarnation() == incarnation {
		t.Error("two databases have one incarnation")
	}
	if fi, err := os.Stat(filepath.Join(dir, FileName)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", fi.Mode(), err)
	}
}

// TestLogIsCheckpointed writes much more than the write-ahead log may hold. With a pinned read
// transaction it would keep all of it.
func TestLogIsCheckpointed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	value := make([]byte, 4<<10)
	rev := create(t, s, "/registry/a", "first")
	const writes = 5000
	for i := range writes {
		resp, err := s.Client().OptimisticPut(t.Context(), "/registry/a",
			fmt.Appendf(value[:0:0], "%d%s", i,
				value), rev, kubernetes.PutOptions{GetOnFailure: true})
		if err != nil || !resp.Succeeded {
			t.Fatalf("write %d: %v", i, err)
		}
		rev = resp.Revision
	}
	fi, err := os.Stat(filepath.Join(dir, FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	// SQLite checkpoints at 1,000 pages of 4 KiB; 4 times that is what readers in between may
	// delay.
	if limit := int64(16 << 20); fi.Size() > limit {
		t.Errorf("write-ahead log has %d bytes after %d writes, at most %d", fi.Size(), writes,
			limit)
	}
}

// TestWatch checks that a watch sees every write once, in order.
func TestWatch(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(),
		clientv3.WithCreatedNotify())
	<-events
	const n = 200
	go func() {
		for i := range n {
			s.Client().OptimisticPut(ctx, fmt.Sprintf("/registry/t/%04d", i), []byte("x"), 0,
				kubernetes.PutOptions{})
		}
	}()
	seen, last := 0, int64(0)
	for seen < n {
		resp, ok := <-events
		if !ok || resp.Err() != nil {
			t.Fatalf("watch ended after %d: %v", seen, resp.Err())
		}
		for _, e := range resp.Events {
			if want := fmt.Sprintf("/registry/t/%04d", seen); string(e.Kv.Key) != want ||
				e.Kv.ModRevision <= last {
				t.Fatalf("got %s@%d, want %s after %d", e.Kv.Key, e.Kv.ModRevision, want, last)
			}
			seen, last = seen+1, e.Kv.ModRevision
		}
	}
}
