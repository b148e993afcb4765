package uplink

import (
	"context"
	"errors"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
)

// A site opens streams to its parent: the connection comes when it is wanted, over QUIC and TCP,
// and again when it has ended.
func TestUpward(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.upward = echo{}
	up := NewUpward()
	if _, err := up.OpenStream(t.Context()); !errors.Is(err, ErrCutOff) {
		t.Errorf("before there is a session: %v", err)
	}
	c.site(t, streams, func(cfg *Config) { cfg.Upward = up })
	within(t, "a session", func() bool { return c.transport() != "" })
	open := func() {
		t.Helper()
		within(t, "a stream", func() bool { // one that ends just now opens none
			s, err := up.OpenStream(t.Context())
			if err != nil {
				return false
			}
			defer s.Cancel()
			return exchange(s) == nil
		})
	}
	open()
	open()
	if n := len(c.transports()); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.links.End("paris", tunnel.ErrDraining, func(tunnel.Identity) bool { return false })
	open()
	c.mu.Lock()
	c.current(tunnel.ErrDraining) // the next session finds the connection
	c.mu.Unlock()
	open()
}

// Without a session the answer comes at once.
func TestUpwardWithoutASession(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	up := NewUpward()
	s := c.site(t, streams, func(cfg *Config) { cfg.Upward = up })
	within(t, "a session", func() bool { return c.transport() != "" })
	c.mu.Lock()
	c.current(tunnel.ErrRemoved)
	c.mu.Unlock()
	<-s.ended
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := up.OpenStream(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("opened: %v", err)
	}
	var none *Upward
	none.begun(nil)
	none.over(nil)
	none.stands(nil, tunnel.Number{})
	none.failed(data.ErrLate)
}
