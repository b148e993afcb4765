package mux

import (
	"context"
	"fmt"
	"slices"

	"skerry.dev/skerry/tunnel"
)

// AcceptStream implements tunnel.Conn.
func (c *Conn) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	for {
		s, err := c.acceptOne()
		if s != nil {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("accept a stream: %w", err)
		}
		select {
		case <-c.arrived:
		case <-c.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("accept a stream: %w", ctx.Err())
		}
	}
}

// acceptOne returns a stream that waits, nil when there is none.
func (c *Conn) acceptOne() (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if len(c.waiting) == 0 {
		return nil, nil
	}
	s := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	if len(c.waiting) > 0 {
		c.wakeLocked()
	}
	return s, nil
}

// wakeLocked wakes one who accepts.
func (c *Conn) wakeLocked() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}
