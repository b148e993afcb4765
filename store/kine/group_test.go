package kine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"skerry.dev/skerry/store/storetest"
)

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	storetest.Eventually(t, what, condition)
}

// holdWrites has all writes wait until they are released.
func holdWrites(s *Store) (release func()) {
	s.file.group.turn <- struct{}{}
	return sync.OnceFunc(func() { <-s.file.group.turn })
}

// commitsInLog counts the transactions in a write-ahead log that was never begun anew: each ends
// with a frame that has the size of the database, and with synchronous=FULL each such frame is
// synced to disk.
func commitsInLog(t *testing.T, dir string) (n int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName+"-wal"))
	if err != nil || len(data) < 32 {
		t.Fatalf("the log has %d bytes: %v", len(data), err)
	}
	page := int(binary.BigEndian.Uint32(data[8:]))
	salt := string(data[16:24])
	for data = data[32:]; len(data) >= 24+page &&
		string(data[8:16]) == salt; data = data[24+page:] {
		if binary.BigEndian.Uint32(data[4:]) != 0 {
			n++
		}
	}
	return n
}

// Writes that wait at one moment share one sync, and each has a revision of its own. Later ones
// that wait for nobody have their own.
func TestGroupSharesOneSync(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	create(t, s, "/registry/first", "x")
	before := commitsInLog(t, dir)
	const n = 100
	revisions := make([]int64, n)
	release := holdWrites(s)
	defer release()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { revisions[i] = create(t, s, fmt.Sprintf("/registry/t/%d", i), "x") })
	}
	until(t, "all wait", func() bool { return s.file.group.length() == n })
	release()
	all.Wait()
	if got := commitsInLog(t, dir) - before; got != 1 {
		t.Errorf("%d writes that wait together are synced %d times", n, got)
	}
	seen := map[int64]int{}
	for i, r := range revisions {
		if other, twice := seen[r]; twice || r == 0 {
			t.Errorf("revision %d is that of %d and %d", r, other, i)
		}
		seen[r] = i
		got, err := s.Client().Get(t.Context(), fmt.Sprintf("/registry/t/%d", i),
			kubernetes.GetOptions{})
		if err != nil || got.KV == nil || got.KV.ModRevision != r {
			t.Errorf("%d was written as %d: %+v, %v", i, r, got.KV, err)
		}
	}
	if newest, err := s.Revision(t.Context()); err != nil || seen[newest] == 0 &&
		revisions[0] != newest {
		t.Errorf("the newest revision is %d, %v", newest, err)
	}
	before = commitsInLog(t, dir)
	for i := range 10 {
		create(t, s, fmt.Sprintf("/registry/alone/%d", i), "x")
	}
	if got := commitsInLog(t, dir) - before; got != 10 {
		t.Errorf("10 writes one after another are synced %d times", got)
	}
}

// More than one group's worth is written in several.
func TestGroupsAreBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	before := s.file.commits()
	release := holdWrites(s)
	defer release()
	var all sync.WaitGroup
	const small, large = maxGroup + 10, 6
	for i := range small {
		all.Go(func() { create(t, s, fmt.Sprintf("/registry/small/%d", i), "x") })
	}
	until(t, "all wait", func() bool { return s.file.group.length() == small })
	release()
	all.Wait()
	if got := s.file.commits() - before; got != 2 {
		t.Errorf("%d writes in %d groups", small, got)
	}
	before = s.file.commits()
	release = holdWrites(s)
	defer release()
	for i := range large {
		all.Go(func() {
			create(t, s, fmt.Sprintf("/registry/large/%d", i),
				string(make([]byte, maxGroupBytes/3)))
		})
	}
	until(t, "all wait", func() bool { return s.file.group.length() == large })
	release()
	all.Wait()
	if got := s.file.commits() - before; got != 2 {
		t.Errorf("%d large writes in %d groups", large, got)
	}
}

// What is refused in a group leaves the others as they are: a key that is there, one that two
// create, a revision that is not the newest.
func TestGroupRefusals(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	old := create(t, s, "/registry/a", "one")
	var removed atomic.Bool
	// what who was refused is told that there is: by value, the one that he wanted to write
	var told sync.Map
	put := func(key, value string, revision int64) func() bool {
		return func() bool {
			resp, err := s.Client().OptimisticPut(t.Context(), key, []byte(value), revision,
				kubernetes.PutOptions{GetOnFailure: true})
			if err != nil {
				t.Errorf("write %s: %v", key, err)
			} else if !resp.Succeeded {
				told.Store(value, resp.KV)
			}
			return err == nil && resp.Succeeded
		}
	}
	remove := func(key string, revision int64) func() bool {
		return func() bool {
			resp, err := s.Client().OptimisticDelete(t.Context(), key, revision,
				kubernetes.DeleteOptions{GetOnFailure: true})
			if err != nil {
				t.Errorf("delete %s: %v", key, err)
			}
			removed.Store(err == nil && resp.Succeeded)
			return removed.Load()
		}
	}
	before := s.file.commits()
	release := holdWrites(s)
	defer release()
	together := []func() bool{
		// one of these three
		put("/registry/a", "two", old), put("/registry/a", "three", old), remove("/registry/a",
			old),
		put("/registry/b", "mine", 0), put("/registry/b", "theirs", 0), // one of these two
		put("/registry/c", "x", 0), put("/registry/d", "x", 0),
	}
	done := make([]bool, len(together))
	var all sync.WaitGroup
	for i, f := range together {
		all.Go(func() { done[i] = f() })
	}
	until(t, "all wait", func() bool { return s.file.group.length() == len(together) })
	release()
	all.Wait()
	count := func(part []bool) (n int) {
		for _, ok := range part {
			if ok {
				n++
			}
		}
		return n
	}
	if count(done[:3]) != 1 || count(done[3:5]) != 1 || count(done[5:]) != 2 {
		t.Errorf("done: %v", done)
	}
	told.Range(func(wanted, has any) bool {
		kv := has.(*mvccpb.KeyValue)
		gone := removed.Load() && (wanted == "two" || wanted == "three")
		if gone != (kv == nil) || !gone && string(kv.Value) == wanted {
			t.Errorf("%s is refused and told of %+v; deleted: %v", wanted, kv, removed.Load())
		}
		return true
	})
	if got := s.file.commits() - before; got != 1 {
		t.Errorf("they are %d transactions", got)
	}
	if w, ok := s.Watermark("/registry").Revision(); !ok || w != 0 {
		t.Errorf("the watermark is %d, %v", w, ok)
	}
}

// A write whose context ends while it waits is not done, is known not to be, and does not hold up
// the others.
func TestGroupWithoutWhoLeft(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	w := s.Watermark("/registry")
	release := holdWrites(s)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan int64, 1)
	go func() {
		_, err := s.backend.Create(ctx, "/registry/left", []byte("x"), 0)
		left <- err
	}()
	until(t, "one waits", func() bool { return s.file.group.length() == 1 })
	go func() { stayed <- create(t, s, "/registry/stayed", "x") }()
	until(t, "two wait", func() bool { return s.file.group.length() == 2 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left is told %v", err)
	}
	release()
	rev := <-stayed
	if got, err := s.Client().Get(t.Context(), "/registry/left",
		kubernetes.GetOptions{}); err != nil || got.KV != nil {
		t.Errorf("what was given up is there: %+v, %v", got, err)
	}
	if got, ok := w.Revision(); got != rev || !ok {
		t.Errorf("the watermark is %d %v, want %d", got, ok, rev)
	}
	// An update that was given up is no conflict.
	release = holdWrites(s)
	defer release()
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, _, _, err := s.backend.Update(ctx, "/registry/stayed", []byte("y"), rev, 0)
		left <- err
	}()
	until(t, "one waits", func() bool { return s.file.group.length() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up an update is told %v", err)
	}
	release()
	// A client's cancellation arrives as one.
	release = holdWrites(s)
	defer release()
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := s.Client().OptimisticPut(ctx, "/registry/late", nil, 0,
		kubernetes.PutOptions{}); status.Code(err) != codes.Canceled &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("a client that left is told %v", err)
	}
}

// Many write at once, to keys of their own and to one that all count up: every acknowledged write
// has one event, in the order of revisions, and no count is lost.
func TestConcurrentWriters(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	events := s.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(),
		clientv3.WithCreatedNotify())
	<-events
	const writers, each, counter = 12, 12, "/registry/t/counter"
	create(t, s, counter, "0")
	var all sync.WaitGroup
	var mu sync.Mutex
	wrote := map[int64]string{}
	note := func(revision int64, key string) {
		mu.Lock()
		defer mu.Unlock()
		if other, twice := wrote[revision]; twice {
			t.Errorf("revision %d is that of %s and of %s", revision, other, key)
		}
		wrote[revision] = key
	}
	for w := range writers {
		all.Go(func() {
			last := int64(0)
			for i := range each {
				key := fmt.Sprintf("/registry/t/%d-%d", w, i)
				rev := create(t, s, key, "x")
				if note(rev, key); rev <= last {
					t.Errorf("writer %d got %d after %d", w, rev, last)
				}
				if newest, err := s.Revision(ctx); err != nil || newest < rev {
					t.Errorf("the newest revision is %d after %d was acknowledged: %v", newest, rev,
						err)
				}
				last = countUp(t, s, counter)
				note(last, counter)
			}
		})
	}
	all.Wait()
	last := int64(0)
	for seen := -1; seen < 2*writers*each; { // the counter's creation is the first
		resp, ok := <-events
		if !ok || resp.Err() != nil {
			t.Fatalf("the watch ended after %d: %v", seen, resp.Err())
		}
		for _, e := range resp.Events {
			if seen >= 0 && (wrote[e.Kv.ModRevision] != string(e.Kv.Key) ||
				e.Kv.ModRevision <= last) {
				t.Fatalf("event %s@%d after %d, acknowledged was %q", e.Kv.Key, e.Kv.ModRevision,
					last, wrote[e.Kv.ModRevision])
			}
			seen, last = seen+1, e.Kv.ModRevision
		}
	}
	got, err := s.Client().Get(ctx, counter, kubernetes.GetOptions{})
	if err != nil || string(got.KV.Value) != fmt.Sprint(writers*each) {
		t.Errorf("%d times counted up: %+v, %v", writers*each, got.KV, err)
	}
}

// countUp adds one to a number by compare and swap.
func countUp(t *testing.T, s *Store, key string) int64 {
	for {
		got, err := s.Client().Get(t.Context(), key, kubernetes.GetOptions{})
		if err != nil {
			t.Error(err)
			return 0
		}
		var n int
		fmt.Sscan(string(got.KV.Value), &n)
		put, err := s.Client().OptimisticPut(t.Context(), key, fmt.Append(nil, n+1),
			got.KV.ModRevision, kubernetes.PutOptions{GetOnFailure: true})
		if err != nil {
			t.Error(err)
			return 0
		}
		if put.Succeeded {
			return put.Revision
		}
	}
}
