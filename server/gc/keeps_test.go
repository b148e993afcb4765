package gc

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// An object that is deleted with orphan stays until what it leaves at targets is taken care of.
func TestAnOrphaningObjectWaitsForWhatItLeavesAtTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ready := newCluster(t), atomic.Bool{}
		c.put("a", "app")
		c.collector = New(Config{API: c, Log: slog.New(slog.DiscardHandler), Keeps: func(k store.Key) error {
			if k != key("a", "app") {
				t.Errorf("asked about %s", k)
			}
			if ready.Load() {
				return nil
			}
			return errors.New("not yet")
		}})
		c.collector.Reset(c.revision, storetest.Listing(c.all()))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.collector.Run(ctx) }()
		c.remove("a", "app", "Orphan")
		time.Sleep(time.Minute)
		if got := show(c, "a"); got != "app" {
			t.Errorf("left: %q while it may not go", got)
		}
		ready.Store(true)
		time.Sleep(time.Minute)
		if got := show(c, "a"); got != "" {
			t.Errorf("left: %q when it may go", got)
		}
		cancel()
		<-done
	})
}
