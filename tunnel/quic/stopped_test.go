package quic_test

import (
	"context"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// A parent says of an agent that stopped just that, and not which stream broke. It hears the reason
// of an agent that has one to tell.
func TestStoppedAgent(t *testing.T) {
	for name, c := range map[string]struct {
		why          error
		child, heard string
	}{
		"without a reason": {child: context.Canceled.Error(), heard: "agent stopped"},
		"for a reason": {
			why:   tunnel.ErrStalled,
			child: tunnel.ErrStalled.Error(),
			heard: tunnel.ErrStalled.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			child, parent := newSite(t).pair(t)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			desired, reported := newObjects(false), newObjects(true)
			inbox := storetest.NewMemory()
			ended, left := make(chan error, 1), make(chan error, 1)
			go func() {
				ended <- tunnel.ServeChild(ctx, child,
					tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: reported.Feed})
			}()
			go func() {
				left <- tunnel.ServeParent(t.Context(), parent,
					tunneltest.Parent{Feed: desired.Feed, Inbox: inbox}.Config())
			}()
			desired.set(deployment(1))
			for reported.set(deployment(1)); inbox.Position() != reported.Head(); time.Sleep(time.Millisecond) {
				if t.Context().Err() != nil {
					t.Fatal("nothing came")
				}
			}
			stop(c.why)
			if err := <-ended; err == nil || err.Error() != c.child {
				t.Errorf("the child ended: %v", err)
			}
			if err := <-left; err == nil || err.Error() != c.heard {
				t.Errorf("the parent ended: %v", err)
			}
		})
	}
}
