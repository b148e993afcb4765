package tunnel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/wire"
)

// otherVersion is the connection of a child of another version: each stream begins with it.
type otherVersion struct{ tunnel.Conn }

func (c otherVersion) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.Conn.OpenStream(ctx)
	return &otherStream{Stream: s}, err
}

type otherStream struct {
	tunnel.Stream
	begun bool
}

func (s *otherStream) Write(p []byte) (int, error) {
	if !s.begun && len(p) > 0 {
		s.begun = true
		p = append([]byte{wire.Version + 1}, p[1:]...)
	}
	return s.Stream.Write(p)
}

// A child of another version of the protocol is refused before it is admitted, and is told what the
// parent speaks.
func TestOtherVersionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child, parent := pipe.New(pipe.Options{})
		done := make(chan error, 1)
		go func() {
			done <- tunnel.ServeParent(t.Context(), parent, tunneltest.Parent{
				OnAdmit: func(context.Context, tunnel.Identity, tunnel.Hello) (tunnel.Admission, error) {
					t.Error("it was admitted")
					return tunnel.Admission{}, errors.ErrUnsupported
				},
			}.Config())
		}()
		err := tunnel.ServeChild(t.Context(), otherVersion{child}, tunnel.ChildConfig{Desired: storetest.NewMemory(),
			Reported: feedOf(1)})
		want := fmt.Sprintf("the child speaks protocol version %d, this center %d", wire.Version+1, wire.Version)
		var refused *tunnel.Refused
		if !errors.As(err, &refused) || refused.Reason != "Version" || refused.Message != want {
			t.Errorf("the child was told %v", err)
		}
		if err := <-done; !errors.Is(err, tunnel.ErrRefused) {
			t.Errorf("the parent ended with %v", err)
		}
	})
}
