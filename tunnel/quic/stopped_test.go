package quic_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// A parent says of an agent that stopped just that, and not which stream broke.
func TestStoppedAgent(t *testing.T) {
	child, parent := newSite(t).pair(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
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
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the child ended: %v", err)
	}
	if err := <-left; err == nil || err.Error() != "agent stopped" {
		t.Errorf("the parent ended: %v", err)
	}
}
