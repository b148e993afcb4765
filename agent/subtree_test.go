package agent

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
)

// A relay's first word about what is below it goes at once, and so does a change after a while of
// rest; of many changes the last is told.
func TestOverlook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, news := 0, make(chan struct{})
		change := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			now = n
			close(news)
			news = make(chan struct{})
		}
		a := &agent{Config: Config{Subtree: func() (*tunnel.SubtreeStatus, <-chan struct{}) {
			mu.Lock()
			defer mu.Unlock()
			return &tunnel.SubtreeStatus{Troubled: now}, news
		}}}
		told := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if said, _ := a.conditions.All(); said.Subtree == nil || said.Subtree.Troubled != want {
				t.Errorf("%+v is told, want %d", said.Subtree, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.reportSubtree(ctx); close(ended) }()
		told(0, 0)
		change(1)
		change(2)
		told(overlookPause-time.Second, 0)
		told(time.Second, 2)
		told(2*overlookPause, 2)
		change(3)
		told(0, 3)
		cancel()
		<-ended
	})
}

// That the first site is reached is reported at once, whatever was reported just before. What comes next waits.
func TestTheFirstSiteIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, news := &tunnel.SubtreeStatus{}, make(chan struct{})
		change := func(troubled, connected int) {
			mu.Lock()
			defer mu.Unlock()
			now = &tunnel.SubtreeStatus{Troubled: troubled, Reach: &tunnel.SubtreeReach{Targets: connected, Connected: connected}}
			close(news)
			news = make(chan struct{})
		}
		a := &agent{Config: Config{Subtree: func() (*tunnel.SubtreeStatus, <-chan struct{}) {
			mu.Lock()
			defer mu.Unlock()
			return now, news
		}}}
		told := func(after time.Duration, troubled, connected int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			said, _ := a.conditions.All()
			if s := said.Subtree; s == nil || s.Troubled != troubled || s.Reach == nil && connected != 0 ||
				s.Reach != nil && s.Reach.Connected != connected {
				t.Errorf("%+v is told, want %d in trouble, %d connected", s, troubled, connected)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.reportSubtree(ctx); close(ended) }()
		told(0, 0, 0)
		change(0, 0)
		told(overlookPause, 0, 0)
		change(1, 0)
		told(0, 0, 0)
		change(1, 1)
		told(0, 1, 1)
		change(0, 2)
		told(overlookPause-time.Second, 1, 1)
		told(time.Second, 0, 2)
		cancel()
		<-ended
	})
}
