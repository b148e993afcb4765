package kine

import (
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// Compaction that cannot have the database for longer than it waits goes on when it can, and writes
// that came meanwhile are acknowledged then.
func TestCompactionSurvivesALockedDatabase(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, CompactInterval: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	churn(t, s, "/registry/a", 1500)
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := s.Client().OptimisticPut(ctx, "/registry/b", []byte("x"), 0,
			kubernetes.PutOptions{})
		written <- err
	}()
	select {
	case err := <-written:
		t.Fatalf("the database is not locked: a write ended with %v", err)
	case <-time.After(compactTimeout + time.Second): // a compaction gives up in this time
	}
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-written; err != nil {
		t.Errorf("a write that waited: %v", err)
	}
	churn(t, s, "/registry/c", 2500)
	// kine keeps the last 1,000 revisions.
	until(t, "what was superseded is compacted", func() bool {
		return count(t,
			db) <= minRetain+500
	})
}
