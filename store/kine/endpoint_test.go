package kine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

func database(s *Store) *postgres { return s.shared.(*postgres) }

func openShared(t *testing.T, p *storetest.Postgres) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Endpoint: p.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Two replicas on one database: each sees the other's writes, in one order; what was acknowledged
// survives the death of the database.
func TestTwoReplicasOnPostgres(t *testing.T) {
	p := storetest.StartPostgres(t)
	twoReplicas(t, p.Endpoint, func() { p.Stop(); p.Run() })
}

// twoReplicas is what holds on every database that replicas share. again kills the database and
// starts it again.
func twoReplicas(t *testing.T, endpoint string, again func()) {
	stores := make([]*Store, 2)
	var opening sync.WaitGroup
	for i := range stores { // at once, on an empty database
		opening.Go(func() {
			var err error
			if stores[i], err = Open(context.Background(),
				Config{Endpoint: endpoint, Progress: time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	for i := range stores {
		if stores[i] == nil {
			t.Fatal("two replicas cannot start at once on an empty database")
		}
	}
	a, b := stores[0], stores[1]
	if a.Incarnation() != b.Incarnation() || a.Incarnation().IsZero() || !a.Shared() ||
		a.Eras() != nil {
		t.Fatalf("incarnations %s and %s, eras %v", a.Incarnation(), b.Incarnation(), a.Eras())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	events := b.Client().Watch(ctx, "/registry/t/", clientv3.WithPrefix(),
		clientv3.WithCreatedNotify())
	<-events
	const each = 100
	var writers sync.WaitGroup
	var mu sync.Mutex
	want := map[string]bool{}
	for w, s := range stores {
		for k := range 2 {
			writers.Go(func() {
				for i := range each {
					key := fmt.Sprintf("/registry/t/%d-%d-%d", w, k, i)
					resp, err := s.Client().OptimisticPut(ctx, key, []byte("x"), 0,
						kubernetes.PutOptions{})
					if err != nil || !resp.Succeeded {
						t.Errorf("write %s: %v", key, err)
						return
					}
					mu.Lock()
					want[key] = true
					mu.Unlock()
				}
			})
		}
	}
	last := int64(0)
	seen := map[string]bool{}
	for len(seen) < 4*each {
		resp, ok := <-events
		if !ok || resp.Err() != nil {
			t.Fatalf("the watch ended after %d: %v", len(seen), resp.Err())
		}
		for _, e := range resp.Events {
			if seen[string(e.Kv.Key)] || e.Kv.ModRevision <= last {
				t.Fatalf("%s@%d after %d", e.Kv.Key, e.Kv.ModRevision, last)
			}
			seen[string(e.Kv.Key)], last = true, e.Kv.ModRevision
		}
	}
	writers.Wait()
	if rev, err := a.Revision(ctx); err != nil || rev < last {
		t.Errorf("revision %d, %v after %d", rev, err, last)
	}
	if _, known := a.Watermark("/registry/t").Revision(); known {
		t.Error("a replica takes itself for the only one that writes")
	}
	// One key, both replicas: exactly one creates it.
	won := 0
	for _, s := range stores {
		resp, err := s.Client().OptimisticPut(ctx, "/registry/once", []byte("x"), 0,
			kubernetes.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Succeeded {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d replicas created one key", won)
	}
	progressComesAfterEvents(t, b, 2, a, b)
	eras(t, a, b)
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	again()
	c, err := Open(t.Context(), Config{Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Client().Client.Get(ctx, "/registry/t/", clientv3.WithPrefix(),
		clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != len(want) {
		t.Errorf("%d of %d acknowledged writes are there", len(got.Kvs), len(want))
	}
}

// eras checks that each term of leading is an era of its own, and that what replicas share is kept
// once.
func eras(t *testing.T, a, b *Store) {
	first, err := a.BeginEra(t.Context())
	if err != nil || len(first) != 1 || len(a.Eras()) != 1 {
		t.Fatalf("first era: %v, %v", first, err)
	}
	second, err := b.BeginEra(t.Context())
	if err != nil || len(second) != 2 || second[0] != first[0] || second[1].From < first[0].From {
		t.Fatalf("second era: %v, %v", second, err)
	}
	if shared := second.Shared(first[0].Era, 1<<40); shared != second[1].From {
		t.Errorf("of the first era %d is shared, want %d", shared, second[1].From)
	}
	for i, s := range []*Store{a, b} {
		if got, err := s.Keep(t.Context(), "keys", []byte{byte('1' + i)}); err != nil ||
			string(got) != "1" {
			t.Errorf("kept %q, %v", got, err)
		}
	}
	if err := b.Replace(t.Context(), "keys", []byte("1"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := a.Replace(t.Context(), "keys", []byte("1"), []byte("newer")); !errors.Is(err,
		ErrReplaced) {
		t.Errorf("replaced what is not there any more: %v", err)
	}
	if got, err := a.Kept(t.Context(), "keys"); err != nil || string(got) != "new" {
		t.Errorf("replaced by %q, %v", got, err)
	}
	if got, err := a.Kept(t.Context(), "nothing"); err != nil || got != nil {
		t.Errorf("nothing is %q, %v", got, err)
	}
}

func TestEndpointsThatCannotBeMeant(t *testing.T) {
	for _, endpoint := range []string{"mysql://u:secret@h/db", "postgres://",
		"postgres://u:secret@h", "sqlite:///x", "http://h/db", "://"} {
		s, err := Open(t.Context(), Config{Endpoint: endpoint})
		if !errors.Is(err, ErrEndpoint) {
			t.Errorf("%s: %v", endpoint, err)
		}
		if s != nil {
			s.Close()
		}
	}
}

// A write waits for one that has its revision and is not committed: nobody sees a revision before
// all earlier ones.
func TestRevisionsBecomeVisibleInOrder(t *testing.T) {
	p := storetest.StartPostgres(t)
	s := openShared(t, p)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	tx, err := database(s).db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var early int64
	if err := tx.QueryRowContext(ctx,
		`INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value, old_value)
		VALUES ('/registry/t/early', 1, 0, 0, 0, 0, 'v', NULL) RETURNING id`).Scan(&early); err != nil {
		t.Fatal(err)
	}
	late := make(chan int64, 1)
	go func() {
		put, err := s.Client().OptimisticPut(ctx, "/registry/t/late", []byte("v"), 0,
			kubernetes.PutOptions{})
		if err != nil {
			t.Error(err)
		}
		late <- put.Revision
	}()
	for waits := 0; waits == 0; {
		select {
		case <-late:
			t.Fatal("a write does not wait for one that has an earlier revision")
		default:
		}
		if err := database(s).db.QueryRowContext(ctx,
			`SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := <-late; got <= early {
		t.Errorf("the later write has revision %d, the earlier one %d", got, early)
	}
}

// However many clients there are, two replicas open no more connections than their share, and
// nothing is refused for the want of one.
func TestConnectionsAreBounded(t *testing.T) {
	p := storetest.StartPostgres(t)
	a, b := openShared(t, p), openShared(t, p)
	defer a.Close()
	defer b.Close()
	allowed := 2 * (database(a).ours + database(a).kines)
	if allowed >= 97 { // of 100, three are reserved
		t.Fatalf("two replicas take %d connections", allowed)
	}
	var all sync.WaitGroup
	for i := range 300 {
		s := []*Store{a, b}[i%2]
		all.Go(func() {
			key := fmt.Sprintf("/registry/t/%d", i)
			if put, err := s.Client().OptimisticPut(t.Context(), key, []byte("v"), 0,
				kubernetes.PutOptions{}); err != nil || !put.Succeeded {
				t.Errorf("write %s: %v", key, err)
			}
			if _, err := s.Client().Client.Get(t.Context(), key); err != nil {
				t.Errorf("read %s: %v", key, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	most, open := 0, 0
	for busy := true; busy; most = max(most, open) {
		if err := database(a).db.QueryRowContext(t.Context(),
			`SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'skerry'`).Scan(&open); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			busy = false
		default:
		}
	}
	if most > allowed || most < 4 {
		t.Errorf("%d connections were open at most, the share is %d", most, allowed)
	}
	for _, s := range []*Store{a, b} {
		if most := database(s).db.Stats().MaxOpenConnections; most != database(s).ours {
			t.Errorf("%d connections beside kine's, want %d", most, database(s).ours)
		}
	}
}

func TestDivideConnections(t *testing.T) {
	for allowed, want := range map[int]connections{
		97: {6, 18, 9}, 1000: {16, 48, 24}, 20: {2, 6, 3}, 3: {2, 6, 3},
	} {
		if got := divide(allowed); got != want {
			t.Errorf("of %d: %+v, want %+v", allowed, got, want)
		}
	}
}
