package kine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// A snapshot under load holds everything up to one revision and nothing after it, and the log of
// the running store is checkpointed again when it is made.
func TestSnapshotUnderLoad(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	var mu sync.Mutex
	written := map[string]int64{}
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("/registry/%d/%06d", w, i)
				resp, err := s.Client().OptimisticPut(t.Context(), key, []byte(key), 0,
					kubernetes.PutOptions{})
				if err != nil {
					t.Errorf("write beside a snapshot: %v", err)
					return
				}
				mu.Lock()
				written[key] = resp.Revision
				mu.Unlock()
			}
		})
	}
	first := create(t, s, "/registry/first", "x")
	copied := t.TempDir()
	to := filepath.Join(copied, FileName)
	if err := Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	close(stop)
	writers.Wait()
	if fi, err := os.Stat(to); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode of the copy: %v, %v", fi.Mode(), err)
	}
	facts, err := Inspect(t.Context(), to)
	if err != nil || facts.Incarnation != s.Incarnation() || facts.Revision < first {
		t.Fatalf("the copy says %+v, %v; it was begun after %d", facts, err, first)
	}
	restored := open(t, copied)
	defer restored.Close()
	for key, revision := range written {
		got, err := restored.Client().Get(t.Context(), key, kubernetes.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if there := got.KV != nil; there != (revision <= facts.Revision) {
			t.Errorf("%s of revision %d: in the copy of %d: %v", key, revision, facts.Revision,
				there)
		}
	}
	if err := Snapshot(t.Context(), dir, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("a snapshot over an existing file: %v", err)
	}
}

func TestInspectFindsDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 500 {
		create(t, s, fmt.Sprintf("/registry/%d", i), string(make([]byte, 500)))
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cut": good[:len(good)/2],
		"blanked": append(append(append([]byte{}, good[:8192]...), make([]byte, 16384)...),
			good[8192+16384:]...),
		"other": []byte("this is no database at all, but it is a file\n"), "empty": nil,
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if facts, err := Inspect(t.Context(), path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, facts, err)
		}
	}
}
