package quic_test

import (
	"context"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
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

// A stream may tell that the other side has closed the connection before the connection itself does.
// Both say why from then on: else an admin reads of a broken stream, and not of the reason.
func TestReasonThatAStreamTellsFirst(t *testing.T) {
	_, parent := newSite(t).pair(t)
	if err := quic.StreamEnded(parent, &quicgo.StreamError{Remote: true, ErrorCode: 1}); parent.Err() != nil {
		t.Errorf("a stream that failed alone, %v, ended the connection: %v", err, parent.Err())
	}
	err := quic.StreamEnded(parent, &quicgo.ApplicationError{Remote: true,
		ErrorCode: quicgo.ApplicationErrorCode(tunnel.CodeOf(tunnel.ErrStalled))})
	if err != tunnel.ErrStalled || parent.Err() != tunnel.ErrStalled {
		t.Errorf("the stream says %v, and the connection %v", err, parent.Err())
	}
}
