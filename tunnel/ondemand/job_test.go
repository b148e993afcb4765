package ondemand_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/ondemand"
)

// What is noted before a kick is seen by the work, by one goroutine at a time, however many kick.
func TestEveryKickIsFollowedByWork(t *testing.T) {
	var noted, seen, at atomic.Int64
	j := ondemand.NewJob(func() {
		if at.Add(1) != 1 {
			t.Error("two do it at a time")
		}
		seen.Store(noted.Load())
		runtime.Gosched()
		at.Add(-1)
	})
	var kicking sync.WaitGroup
	for range 8 {
		kicking.Go(func() {
			for range 1000 {
				noted.Add(1)
				j.Kick()
			}
		})
	}
	kicking.Wait()
	for end := time.Now().Add(time.Minute); seen.Load() != 8000; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of 8000 were seen after a minute", seen.Load())
		}
	}
	j.End()
}

func TestNothingRunsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := 0
		j := ondemand.NewJob(func() { time.Sleep(time.Hour); done++ })
		j.Kick()
		synctest.Wait()
		j.Kick() // while it is done, which is not the last time then
		began := time.Now()
		j.End()
		if done != 1 || time.Since(began) != time.Hour {
			t.Errorf("done %d times, the end came after %s", done, time.Since(began))
		}
		j.Kick()
		synctest.Wait()
		if done != 1 {
			t.Error("a kick after the end counts")
		}
		idle := ondemand.NewJob(func() { t.Error("done without a kick") })
		idle.End()
	})
}

func TestApartReturnsTheError(t *testing.T) {
	want := errors.New("no")
	if err := ondemand.Apart(func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
}
