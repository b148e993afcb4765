//go:build linux

package kine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

// A full disk: each write of a group says so and none is acknowledged or taken for a conflict, what
// is there is read, a neighbour for which there is room is written, and all goes on when there is
// space again.
func TestFullDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, "4m")
	s := open(t, dir)
	defer s.Close()
	w := s.Watermark("/registry")
	first := create(t, s, "/registry/first", "one")
	put := func(key, value string, revision int64) error {
		resp, err := s.Client().OptimisticPut(t.Context(), key, []byte(value), revision,
			kubernetes.PutOptions{GetOnFailure: true})
		if err == nil && !resp.Succeeded {
			return errors.New("a conflict")
		}
		return err
	}
	// In one group: what there is no room for, and what there is.
	huge := strings.Repeat("x", 3<<19)
	release := holdWrites(s)
	defer release()
	var all sync.WaitGroup
	var refused error
	all.Go(func() { refused = put("/registry/huge", huge, 0) })
	until(t, "one waits", func() bool { return s.file.group.length() == 1 })
	all.Go(func() { create(t, s, "/registry/small", "x") })
	until(t, "two wait", func() bool { return s.file.group.length() == 2 })
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "most"),
		make([]byte, int64(disk.Bfree)*disk.Bsize-1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	release()
	all.Wait()
	if refused == nil || !strings.Contains(refused.Error(), "full") {
		t.Errorf("what there was no room for is told %v", refused)
	}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), bytes.Repeat([]byte{1}, 4<<20),
		0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	var acknowledged sync.Map
	var told atomic.Int64
	for i := range 64 {
		all.Go(func() {
			key := fmt.Sprintf("/registry/t/%d", i)
			if err := put(key, strings.Repeat("x", 32<<10), 0); err == nil {
				acknowledged.Store(key, true) // there may be room in pages that the log has already
			} else if strings.Contains(err.Error(), "full") {
				told.Add(1)
			} else {
				t.Errorf("on a full disk: %v", err)
			}
		})
	}
	all.Wait()
	if told.Load() == 0 {
		t.Fatal("the disk is not full")
	}
	if err := put("/registry/first", strings.Repeat("x", 64<<10), first); err == nil ||
		!strings.Contains(err.Error(), "full") {
		t.Errorf("an update on a full disk: %v", err)
	}
	if _, ok := w.Revision(); ok {
		t.Error("the watermark is known while a write may be in the log by halves")
	}
	var trouble *Trouble
	if err := put("/registry/first", strings.Repeat("x", 64<<10), first); !errors.As(err,
		&trouble) || trouble.Kind != Full || !strings.Contains(err.Error(), dir) {
		t.Errorf("an update on a full disk is told: %v", err)
	}
	if err := s.Health(); err == nil || s.Troubles()[Full] == 0 {
		t.Errorf("health on a full disk: %v, counted %v", err, s.Troubles())
	}
	if got, err := s.Client().Get(t.Context(), "/registry/first",
		kubernetes.GetOptions{}); err != nil || got.KV == nil || string(got.KV.Value) != "one" {
		t.Errorf("read on a full disk: %+v, %v", got, err)
	}
	for _, name := range []string{"ballast", "most"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("/registry/first", "two", first); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if err := s.Health(); err != nil {
		t.Errorf("health with space again: %v", err)
	}
	if newest, err := s.Revision(t.Context()); err != nil {
		t.Error(err)
	} else if got, ok := w.Revision(); !ok || got != newest {
		t.Errorf("the watermark is %d %v, the newest revision %d", got, ok, newest)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer s.Close()
	for i := range 64 {
		key := fmt.Sprintf("/registry/t/%d", i)
		got, err := s.Client().Get(t.Context(), key, kubernetes.GetOptions{})
		if _, want := acknowledged.Load(key); err != nil || want != (got.KV != nil) {
			t.Errorf("%s was acknowledged: %v, is there: %v, %v", key, want, got.KV != nil, err)
		}
	}
	if got, err := s.Client().Get(t.Context(), "/registry/small",
		kubernetes.GetOptions{}); err != nil || got.KV == nil {
		t.Errorf("the neighbour of what there was no room for: %+v, %v", got, err)
	}
}
