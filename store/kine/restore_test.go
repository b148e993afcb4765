package kine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/restore"
	"skerry.dev/skerry/store/storetest"
)

func TestRestoreIntoPostgres(t *testing.T) {
	p := storetest.StartPostgres(t)
	restores(t, p.Endpoint, true)
}

func TestRestoreIntoEtcd(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	restores(t, e.Endpoint, false)
}

// beforeBackup is the revision at which the file's keys begin: later than a new cluster's.
const beforeBackup = 5_000_000

// lived is the file of a center that has run twice, and what an agent of its last run has seen.
func lived(t *testing.T) (file string, keys map[string]string, at store.Position) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	create(t, s, "/registry/t/old", "old")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(
		`UPDATE sqlite_sequence SET seq = ? WHERE name = 'kine'`,
		beforeBackup,
	); err != nil {
		t.Fatal(err)
	}
	db.Close()
	s = open(t, dir)
	defer s.Close()
	keys = map[string]string{
		"/registry/t/old":    "old",
		"/registry/t/0000":   "again",
		"/registry/events/a": "x",
	}
	for i := range 700 {
		key := fmt.Sprintf("/registry/t/%04d", i)
		create(t, s, key, fmt.Sprint(i))
		if i > 0 {
			keys[key] = fmt.Sprint(i)
		}
	}
	first, err := s.Client().Get(t.Context(), "/registry/t/0000", kubernetes.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().OptimisticPut(
		t.Context(),
		"/registry/t/0000",
		[]byte("again"),
		first.KV.ModRevision,
		kubernetes.PutOptions{GetOnFailure: true},
	); err != nil {
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
	gone := create(t, s, "/registry/t/gone", "x")
	if _, err := s.Client().OptimisticDelete(
		t.Context(),
		"/registry/t/gone",
		gone,
		kubernetes.DeleteOptions{GetOnFailure: true},
	); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), FileName)
	if err := s.Copy(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	revision, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return file, keys, store.Position{
		Incarnation: s.Incarnation(),
		Era:         s.Eras()[len(s.Eras())-1].Era,
		Revision:    revision,
	}
}

// restores checks that a file's data go on in a shared datastore, and from there in a file again.
func restores(t *testing.T, endpoint string, keepsRevisions bool) {
	file, keys, at := lived(t)
	config := Config{Endpoint: endpoint}
	if there, err := Look(t.Context(), config); err != nil || there.String() != "nothing" {
		t.Fatalf("an empty datastore holds %v, %v", there, err)
	}
	counted := 0
	options := restore.Options{Shared: map[string][]byte{"pki": []byte("sealed")},
		Count: func(done, total int) {
			if counted = max(counted, done); total != len(keys)+1 { // and the key of kine's health check
				t.Fatalf("%d keys in all", total)
			}
		}}
	if err := Restore(t.Context(), config, file, options); err != nil {
		t.Fatal(err)
	}
	if counted != len(keys)+1 {
		t.Errorf("%d keys were counted", counted)
	}
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, s, keys, at)
	if sealed, err := s.Kept(t.Context(), "pki"); err != nil || string(sealed) != "sealed" {
		t.Errorf("the replicas share %q, %v", sealed, err)
	}
	old, err := s.Client().Get(t.Context(), "/registry/t/old", kubernetes.GetOptions{})
	if err != nil || keepsRevisions != (old.KV.ModRevision < beforeBackup) ||
		old.KV.CreateRevision != old.KV.ModRevision {
		t.Errorf("a key is %v, %v", old.KV, err)
	}
	goesOn(t, s, at.Revision)

	// What is there is not lost by mistake, nor beneath a center that writes.
	if err := Restore(t.Context(), config, file, options); !errors.Is(err, restore.ErrNotEmpty) {
		t.Errorf("a restore over a center: %v", err)
	}
	writing, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; writing.Err() == nil; i++ {
			s.Client().OptimisticPut(
				writing,
				fmt.Sprintf("/registry/w/%d", i),
				[]byte("x"),
				0,
				kubernetes.PutOptions{},
			)
			pause(writing, 100*time.Millisecond)
		}
	}()
	options.Replace = true
	if err := Restore(t.Context(), config, file, options); !errors.Is(err, restore.ErrInUse) {
		t.Errorf("a restore beneath a center: %v", err)
	}
	stop()
	<-stopped

	// A copy of it is a file that goes on, too.
	revision, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Copy(t.Context(), filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	back := open(t, dir)
	defer back.Close()
	if got, err := back.Client().Client.Get(
		t.Context(),
		"/registry/t/",
		clientv3.WithPrefix(),
	); err != nil ||
		len(got.Kvs) != len(keys) {
		t.Errorf("%d keys came back, %v", len(got.Kvs), err)
	}
	if next := create(t, back, "/registry/t/back", "x"); next <= revision {
		t.Errorf("the next write in a file has revision %d after %d", next, revision)
	}

	// Replaced, it is as it was, and later than all that it has shown.
	if err := Restore(t.Context(), config, file, options); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holds(t, s, keys, at)
	if keepsRevisions {
		revision = at.Revision
	}
	goesOn(t, s, revision)
}

// holds checks what a restored datastore holds, and what it says to a site that has seen later
// writes than those of the copy.
func holds(t *testing.T, s *Store, keys map[string]string, at store.Position) {
	t.Helper()
	got, err := s.Client().Client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	kvs := only(got.Kvs)
	revisions := map[int64]bool{}
	for _, kv := range kvs {
		if want, ok := keys[string(kv.Key)]; !ok || want != string(kv.Value) {
			t.Fatalf("%s is %q, want %q", kv.Key, kv.Value, want)
		}
		revisions[kv.ModRevision] = true
		if leased := kv.Lease != 0; leased != (string(kv.Key) == "/registry/events/a") {
			t.Errorf("%s has the lease %d", kv.Key, kv.Lease)
		}
	}
	if len(kvs) != len(keys) || len(revisions) != len(keys) {
		t.Errorf("%d keys with %d revisions, want %d", len(kvs), len(revisions), len(keys))
	}
	if s.Incarnation() != at.Incarnation {
		t.Error("it is another center")
	}
	create(t, s, "/registry/t/before-anybody-leads", "x")
	eras, err := s.BeginEra(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Revision(t.Context())
	if err != nil || head <= at.Revision {
		t.Fatalf("the revision is %d, %v, want one after %d", head, err, at.Revision)
	}
	if shared := eras.Shared(at.Era, head); shared != at.Revision {
		t.Errorf("up to %d is shared with the era of the backup, want %d", shared, at.Revision)
	}
}

// goesOn checks that revisions work as ever, and that none at or before one can be read.
func goesOn(t *testing.T, s *Store, before int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Client().Client.Get(
		ctx,
		"/registry/",
		clientv3.WithPrefix(),
		clientv3.WithRev(before-1),
	); !errors.Is(
		err,
		rpctypes.ErrCompacted,
	) {
		t.Errorf("a read before the restore: %v", err)
	}
	for resp := range s.Client().Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithRev(before-1)) {
		if resp.CompactRevision < before-1 || !errors.Is(resp.Err(), rpctypes.ErrCompacted) {
			t.Errorf(
				"a watch from before the restore: %v, compacted at %d",
				resp.Err(),
				resp.CompactRevision,
			)
		}
	}
	if ctx.Err() != nil {
		t.Error("a watch from before the restore does not end")
	}
	first := create(t, s, "/registry/n/a", "1")
	events := s.Client().Watch(
		ctx,
		"/registry/n/",
		clientv3.WithPrefix(),
		clientv3.WithRev(first),
		clientv3.WithPrevKV(),
	)
	if resp := <-events; resp.Err() != nil || len(resp.Events) != 1 ||
		resp.Events[0].Kv.ModRevision != first {
		t.Fatalf("a watch from %d: %+v, %v", first, resp, resp.Err())
	}
	put, err := s.Client().OptimisticPut(
		ctx,
		"/registry/n/a",
		[]byte("2"),
		first,
		kubernetes.PutOptions{GetOnFailure: true},
	)
	if err != nil || !put.Succeeded || put.Revision <= first || first <= before {
		t.Fatalf("a write over %d: %+v, %v", first, put, err)
	}
	stale, err := s.Client().OptimisticPut(
		ctx,
		"/registry/n/a",
		[]byte("3"),
		first,
		kubernetes.PutOptions{GetOnFailure: true},
	)
	if err != nil || stale.Succeeded || stale.KV.ModRevision != put.Revision {
		t.Fatalf("a write over an old revision: %+v, %v", stale, err)
	}
	if resp := <-events; len(resp.Events) != 1 || resp.Events[0].Kv.ModRevision != put.Revision ||
		resp.Events[0].Kv.CreateRevision != first || resp.Header.Revision < put.Revision {
		t.Fatalf("the watch goes on with %+v", resp)
	}
	then, err := s.Client().Get(ctx, "/registry/n/a", kubernetes.GetOptions{Revision: first})
	if err != nil || string(then.KV.Value) != "1" {
		t.Errorf("at %d it was %v, %v", first, then.KV, err)
	}
	if _, err := s.Client().OptimisticDelete(
		ctx,
		"/registry/n/a",
		put.Revision,
		kubernetes.DeleteOptions{GetOnFailure: true},
	); err != nil {
		t.Error(err)
	}
}
