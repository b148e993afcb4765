package tunneltest

import (
	"context"
	"sync"
	"testing"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
)

// ServeStreams returns a child's end of a connection. Its other end serves each stream that the
// child opens by a handler, all at once, until the test ends.
func ServeStreams(t testing.TB, h tunnel.StreamHandler) tunnel.Conn {
	t.Helper()
	child, parent := pipe.New(pipe.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			s, err := parent.AcceptStream(ctx)
			if err != nil {
				return
			}
			serving.Go(func() { h.ServeStream(ctx, s) })
		}
	})
	t.Cleanup(func() {
		cancel()
		child.Close(nil)
		parent.Close(nil)
		serving.Wait()
	})
	return child
}
