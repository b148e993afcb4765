//go:build linux

package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// told collects what OnHealth is told.
type told struct {
	mu   sync.Mutex
	errs []error
}

func (h *told) take(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *told) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.errs) == 0 {
		return nil
	}
	return h.errs[len(h.errs)-1]
}

func noise(n int) string { return strings.Repeat("0123456789abcdef", n/16) }

// A full disk: nothing is acknowledged, what is there is read, and all goes on when there is space
// again.
func TestFullDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, "1m")
	health := &told{}
	impatient, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	f := open(t, filepath.Join(dir, "a.db"), bolt.Options{OnHealth: func(err error) {
		if health.take(err); err != nil {
			giveUp()
		}
	}})
	var pends, durable atomic.Bool
	f.Inventory().Piggyback(func() bolt.Pending {
		if !pends.Load() {
			return bolt.Pending{}
		}
		return bolt.Pending{Puts: map[store.Key]bolt.Record{storetest.Key(1): {UID: noise(4096)}},
			Durable: func() { durable.Store(true) }}
	})
	started := make(chan []store.Key, 100)
	s, i := sink(t, f, bolt.SinkOptions{OnStart: func(keys []store.Key) { started <- keys }}),
		store.NewIncarnation()
	commit(t, s, i, 1, storetest.Value(1, 1, `{"a":1}`))
	<-started
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 1<<20), 0o600); !errors.Is(err,
		syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	body := `{"noise":"` + noise(1<<10) + `"}`
	var many []store.Entry
	for n := 10; n < 400; n++ {
		e := storetest.Value(n, 2, strings.Replace(body, "0123",
			string(rune('a'+n%26))+storetest.Key(n).Name, 20))
		many = append(many, e)
	}
	batch := store.Batch{Entries: many, Through: store.Position{Incarnation: i, Revision: 2}}
	if err := s.Commit(impatient, batch); !errors.Is(err, syscall.ENOSPC) &&
		!strings.Contains(err.Error(), "no space left") {
		t.Fatalf("a commit on a full disk: %v", err)
	}
	if health.last() == nil {
		t.Error("nobody was told")
	}
	if s.Position().Revision != 1 {
		t.Errorf("position %s after a commit that failed", s.Position())
	}
	for len(started) > 0 {
		<-started
	}
	done := make(chan error, 1)
	go func() { done <- s.Commit(context.Background(), batch) }()
	<-started // the consumer may begin meanwhile
	if e, ok, err := s.Get(many[3].Key); err != nil || !ok ||
		string(e.Body) != string(many[3].Body) {
		t.Errorf("what is being committed: known %t, %v", ok, err)
	}
	if e, ok, err := s.Get(storetest.Key(1)); err != nil || !ok || string(e.Body) != `{"a":1}` {
		t.Errorf("what was there before: known %t, %v", ok, err)
	}
	pends.Store(true)
	if err := f.Inventory().Commit(); err == nil || durable.Load() {
		t.Error("the inventory was written to a full disk")
	}
	select {
	case err := <-done:
		t.Fatalf("a commit ended on a full disk: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatalf("a commit after there was space again: %v", err)
	}
	if r, ok, err := f.Inventory().Get(storetest.Key(1)); !ok || err != nil ||
		r.UID != noise(4096) || !durable.Load() {
		t.Errorf("what went along with that commit: known %t, told durable %t, %v", ok,
			durable.Load(), err)
	}
	if err := health.last(); err != nil {
		t.Errorf("the last that was told: %v", err)
	}
	f.Close()
	f = open(t, filepath.Join(dir, "a.db"), bolt.Options{})
	s = sink(t, f, bolt.SinkOptions{})
	if found, err := f.Check(); err != nil || len(found) > 0 || s.Len() != len(many)+1 {
		t.Errorf("%d entries, %v %v", s.Len(), found, err)
	}
}

// A file system that is read-only: what is known can be read, and nothing is acknowledged.
func TestReadOnlyDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, "1m")
	path := filepath.Join(dir, "a.db")
	f := open(t, path, bolt.Options{})
	i := store.NewIncarnation()
	commit(t, sink(t, f, bolt.SinkOptions{}), i, 1, storetest.Value(1, 1, `{"a":1}`))
	f.Close()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("remount: %v", err)
	}
	health := &told{}
	f = open(t, path, bolt.Options{OnHealth: health.take})
	s := sink(t, f, bolt.SinkOptions{})
	if e, ok, err := s.Get(storetest.Key(1)); err != nil || !ok || string(e.Body) != `{"a":1}` {
		t.Errorf("%+v, known %t, %v", e, ok, err)
	}
	if err := health.last(); !errors.Is(err, bolt.ErrReadOnly) {
		t.Errorf("told: %v", err)
	}
	impatient, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := s.Commit(impatient, store.Batch{Entries: []store.Entry{storetest.Value(1, 2, `{"a":2}`)},
		Through: store.Position{Incarnation: i, Revision: 2}})
	if !errors.Is(err, bolt.ErrReadOnly) || s.Position().Revision != 1 {
		t.Errorf("%v, position %s", err, s.Position())
	}
}

// What a full disk refuses names the file and what to do.
func TestRefusedWriteSaysWhichFile(t *testing.T) {
	dir := storetest.SmallDisk(t, "1m")
	health := &told{}
	f := open(t, filepath.Join(dir, "a.db"), bolt.Options{OnHealth: health.take})
	if err := os.WriteFile(filepath.Join(dir, "ballast"), bytes.Repeat([]byte{1}, 1<<20),
		0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := f.SetMeta("big", bytes.Repeat([]byte{1}, 512<<10)); err == nil {
		t.Fatal("a full disk took a write")
	}
	if err := health.last(); err == nil || !strings.Contains(err.Error(),
		filepath.Join(dir, "a.db")) || !strings.Contains(err.Error(),
		"the disk is full: make space") {
		t.Errorf("told: %v", err)
	}
}

func TestForbiddenDirectoryIsExplained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(filepath.Join(path, "a.db"), bolt.Options{}); err == nil {
		t.Error("a file was opened below a file")
	}
	if os.Geteuid() == 0 {
		t.Skip("root may open everything")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(filepath.Join(dir, "a.db"), bolt.Options{}); !errors.Is(err,
		os.ErrPermission) || !strings.Contains(err.Error(), "chown") {
		t.Errorf("%v", err)
	}
}
