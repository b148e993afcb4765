package mux

import (
	"context"
	"errors"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Close implements tunnel.Conn. The other side is told in a moment or not at all: the connection
// ends either way.
func (c *Conn) Close(reason error) error {
	text := ""
	if reason != nil && !errors.Is(reason, context.Canceled) {
		text = reason.Error()
	}
	text = text[:min(len(text), maxReason)]
	code := tunnel.CodeOf(reason)
	if c.end(tunnel.ClosedHere(reason)) {
		c.farewell(code, text)
	}
	return nil
}

// farewell tells the other side why the connection has ended.
func (c *Conn) farewell(code uint64, text string) {
	_ = c.carrier.SetWriteDeadline(time.Now().Add(lingerTime)) // also for somebody who is writing now
	c.writing.Lock()
	defer c.writing.Unlock()
	b := frame{kind: frameClose, stream: uint32(code), value: len(text)}.append(nil)
	_, err := c.carrier.Write(append(b, text...))
	if err == nil {
		err = c.carrier.CloseWrite()
	}
	if err != nil { // the other side is gone
		_ = c.carrier.Abort()
		return
	}
	// What the other side has sent meanwhile must be read, or the kernel resets the connection
	// before the reason has arrived.
	_ = c.carrier.SetReadDeadline(time.Now().Add(lingerTime)) // fails when that is so already
}

// end breaks everything, once. It reports whether it did.
func (c *Conn) end(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endLocked(err)
}

func (c *Conn) endLocked(err error) bool {
	if c.err != nil {
		return false
	}
	c.err = err
	for _, t := range []*time.Timer{c.alive, c.unused} {
		if t != nil {
			t.Stop()
		}
	}
	for _, s := range c.streams {
		s.givenUpLocked(err)
	}
	close(c.done)
	return true
}

// unusedTime is how long this side lets a connection stand without a stream. The parent is the
// first, so that a child does not close what its parent is about to use.
func (c *Conn) unusedTime() time.Duration {
	if c.Child {
		return c.Unused * 3 / 2
	}
	return c.Unused
}

// closeUnused closes a connection that had no stream for long.
func (c *Conn) closeUnused() {
	c.mu.Lock()
	ended := len(c.streams) == 0 && c.endLocked(tunnel.ErrUnused)
	c.mu.Unlock()
	if ended {
		c.farewell(tunnel.CodeOf(tunnel.ErrUnused), "")
	}
}
