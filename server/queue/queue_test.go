package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/queue"
)

// What fails comes back after its own delay, which doubles and is forgotten by a success; the
// others do not wait for it.
func TestWhatFailsComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](time.Second, 3*time.Second)
		began, tries, others, failures := time.Now(), []time.Duration(nil), 0, 0
		var running sync.WaitGroup
		running.Go(func() {
			queue.Drain(t.Context(), q, func(_ context.Context, item string) error {
				if item != "bad" {
					others++
					return nil
				}
				if tries = append(tries, time.Since(began)); len(tries) < 5 {
					return errors.New("not yet")
				}
				return nil
			}, func(string, error) { failures++ })
		})
		q.Add("bad")
		q.Add("good")
		synctest.Wait()
		if others != 1 {
			t.Errorf("%d others were done beside what fails", others)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}; !slices.Equal(
			tries,
			want,
		) ||
			failures != 4 {
			t.Errorf("tried at %v, want %v; %d failures told", tries, want, failures)
		}
		if n := q.NumRequeues("bad"); n != 0 {
			t.Errorf("%d failures are remembered after a success", n)
		}
		q.ShutDown()
		running.Wait()
	})
}

// A failure after the end is none.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](time.Second, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		q.Add("it")
		var running sync.WaitGroup
		running.Go(func() {
			queue.Drain(
				ctx,
				q,
				func(ctx context.Context, _ string) error { return ctx.Err() },
				func(item string, err error) {
					t.Errorf("%s failed at the end: %v", item, err)
				},
			)
		})
		synctest.Wait()
		q.ShutDown()
		running.Wait()
	})
}
