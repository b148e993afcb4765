package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHistory: what was the newest revision at a step is the oldest one five minutes later, or
// later still when the store has not answered.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store atomic.Int64 // negative: it does not answer
		newest := func(context.Context) (int64, error) {
			if rev := store.Load(); rev >= 0 {
				return rev, nil
			}
			return 0, errors.New("no answer")
		}
		var h history
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.run(ctx, newest) }()
		for turn, x := range []struct{ rev, want int64 }{
			{10, 0},
			{20, 0},
			{30, 0},
			{40, 0},
			{50, 0},
			{60, 10},
			{-1, 10},
			{70, 20},
			{70, 30},
			{70, 40},
		} {
			store.Store(x.rev)
			time.Sleep(historyStep)
			synctest.Wait()
			if got := h.CompactRevision(); got != x.want {
				t.Errorf("step %d: kept from %d on, want %d", turn, got, x.want)
			}
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
