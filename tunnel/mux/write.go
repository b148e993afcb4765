package mux

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/traffic"
)

// frames has buffers for a frame with its head: no carrier keeps what it has written.
var frames = sync.Pool{New: func() any { return new([maxData]byte) }}

// write sends one frame as one record.
func (c *Conn) write(f frame, payload []byte) error {
	buffer := frames.Get().(*[maxData]byte)
	defer frames.Put(buffer)
	b := append(f.append(buffer[:0]), payload...)
	c.Meter.Add(traffic.Sent, traffic.Streams, 1, len(b))
	return c.send(b)
}

func (c *Conn) send(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.Err(); err != nil {
		return err
	}
	if err := c.carrier.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return c.broke(err)
	}
	if _, err := c.carrier.Write(b); err != nil {
		return c.broke(err)
	}
	return nil
}

// broke ends the connection with an error of the network, and returns why it ended.
func (c *Conn) broke(err error) error {
	if c.end(fmt.Errorf("the connection broke: %w", err)) {
		_ = c.carrier.Abort()
	}
	return c.Err()
}

// oweLocked notes credit for the other side. c.mu must be held.
func (c *Conn) oweLocked(stream uint32, n int) { c.debts[stream] += n }

// takenLocked notes that bytes of the connection were read, or thrown away. c.mu must be held.
func (c *Conn) takenLocked(n int) {
	if c.read += n; c.read >= c.ConnectionWindow/4 {
		c.oweLocked(0, c.read)
		c.window += c.read
		c.read = 0
	}
}

// owes reports whether the caller, who holds mu, is to call pay.
func (c *Conn) owes() bool {
	if c.paying || c.err != nil || len(c.debts) == 0 && len(c.resets) == 0 && !c.pong {
		return false
	}
	c.paying = true
	return true
}

// pay writes what is owed until nothing is.
func (c *Conn) pay() {
	for {
		c.mu.Lock()
		debts, resets, pong := maps.Clone(c.debts), c.resets, c.pong
		clear(c.debts)
		c.resets, c.pong = nil, false
		if len(debts) == 0 && len(resets) == 0 && !pong || c.err != nil {
			c.paying = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		var b []byte
		for stream, n := range debts {
			b = frame{kind: frameCredit, stream: stream, value: n}.append(b)
		}
		for _, stream := range resets {
			b = frame{kind: frameReset, stream: stream}.append(b)
		}
		if pong {
			b = frame{kind: framePong}.append(b)
		}
		c.Meter.Add(traffic.Sent, traffic.Streams, 1, len(b))
		if c.send(b) != nil { // with the connection, which ends the loop
			continue
		}
		c.mu.Lock()
		for _, stream := range resets {
			c.freedLocked(stream)
		}
		c.mu.Unlock()
	}
}

// KeepAlive has this side ask for a heartbeat when it has heard nothing for so long.
func (c *Conn) KeepAlive(every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every = every
	if c.alive != nil && c.err == nil {
		c.alive.Reset(every)
	}
}

// keepAlive asks for a heartbeat when there was none for a while, and comes back.
func (c *Conn) keepAlive() {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	left := c.every - time.Since(c.heard)
	ask := left <= 0 && time.Since(c.pinged) >= c.every || c.pinged.IsZero() && c.grows()
	c.alive.Reset(max(left, c.every/8))
	c.mu.Unlock()
	if ask {
		_ = c.Ping()
	}
}

// Ping asks the other side for a heartbeat.
func (c *Conn) Ping() error {
	c.mu.Lock()
	c.pinged = time.Now()
	if c.asked.IsZero() {
		c.asked = c.pinged
	}
	c.mu.Unlock()
	return c.write(frame{kind: framePing}, nil)
}
