package filelock

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders, most int
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() {
			l, err := Acquire(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			holders++
			most = max(most, holders)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond) // long enough for others to try
			mu.Lock()
			holders--
			mu.Unlock()
			if i%2 == 0 {
				l.Release()
			} else if err := l.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if most != 1 {
		t.Errorf("%d held it at once", most)
	}
}

func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	check := func(want bool) {
		t.Helper()
		if got, err := Held(path); got != want || err != nil {
			t.Errorf("held: %v, %v", got, err)
		}
	}
	check(false)
	l, err := Acquire(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	check(true)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path); err == nil {
		t.Error("a second holder")
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	check(false)
}
