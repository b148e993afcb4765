package mux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/traffic"
)

// receive reads frames until the connection ends. It never writes: two sides that both wait to
// write would wait for ever.
func (c *Conn) receive(r *bufio.Reader) {
	defer close(c.received)
	defer func() { _ = c.carrier.Abort() }()
	for {
		c.expect()
		f, err := readFrame(r)
		if err == nil {
			c.Meter.Add(traffic.Received, traffic.Streams, 1, f.size())
			err = c.take(f, r)
		}
		switch {
		case err == nil:
		case errors.Is(err, tunnel.ErrProtocol):
			_ = c.Close(err)
			return
		case errors.Is(err, io.EOF):
			c.end(fmt.Errorf("the connection was cut: %w", io.ErrUnexpectedEOF))
			return
		default:
			c.end(fmt.Errorf("the connection broke: %w", err))
			return
		}
	}
}

// expect gives the other side time for the next frame. A connection that was closed keeps the time
// that it got then.
func (c *Conn) expect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		_ = c.carrier.SetReadDeadline(time.Now().Add(c.Dead)) // fails with the connection, as the read will
	}
}

// take does what one frame says.
func (c *Conn) take(f frame, r *bufio.Reader) error {
	switch f.kind {
	case frameClose:
		text := make([]byte, f.value)
		if _, err := io.ReadFull(r, text); err != nil {
			return err
		}
		c.end(tunnel.ReasonOf(uint64(f.stream), string(text)))
		return nil
	case frameData:
		return c.takeData(f, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	err := c.takeLocked(f)
	if err == nil && c.owes() {
		go c.pay()
	}
	return err
}

// takeLocked does what a frame without bytes behind it says.
func (c *Conn) takeLocked(f frame) error {
	switch f.kind {
	case framePing:
		c.pong = true
	case framePong:
		c.answeredLocked()
	case frameCredit:
		return c.takeCreditLocked(f)
	case frameEnd, frameReset:
		s, err := c.findLocked(f.stream)
		if s == nil {
			return err
		}
		if f.kind == frameReset {
			s.givenUpLocked(errReset)
			c.freedLocked(s.id)
			break
		}
		s.inEnd = true
		s.changedLocked()
		c.settleLocked(s)
	}
	return nil
}

// answeredLocked measures the round trip of a ping. An answer to none, or to a second one that was
// sent before the first was answered, measures nothing. c.mu must be held.
func (c *Conn) answeredLocked() {
	if c.asked.IsZero() {
		return
	}
	c.rtt, c.asked = time.Since(c.asked), time.Time{}
	if c.OnHeartbeat != nil {
		c.OnHeartbeat(c.rtt)
	}
}

// findLocked returns the stream that a frame is for; nil is one that has ended. Streams may be used
// in another order than they were opened in, so one opens those before it, too. c.mu must
// be held.
func (c *Conn) findLocked(id uint32) (*stream, error) {
	if s := c.streams[id]; s != nil || c.err != nil {
		return s, nil
	}
	if own := id%2 == c.next%2; id == 0 || own && id >= c.next {
		return nil, fmt.Errorf("%w: stream %d was never opened", tunnel.ErrProtocol, id)
	} else if own || id < c.peers {
		return nil, nil
	}
	for ; c.peers <= id; c.peers += 2 {
		if _, limit := c.limits(); c.admitted >= limit {
			return nil, fmt.Errorf("%w: more than %d streams", tunnel.ErrProtocol, limit)
		}
		c.admitted++
		if !c.takeWindow(c.peers) {
			c.resets = append(c.resets, c.peers)
			continue
		}
		s := newStream(c, c.peers)
		c.addLocked(s)
		c.waiting = append(c.waiting, s)
		c.wakeLocked()
	}
	return c.streams[id], nil
}

// takeCreditLocked lets writers go on. c.mu must be held.
func (c *Conn) takeCreditLocked(f frame) error {
	if f.stream != 0 {
		s, err := c.findLocked(f.stream)
		if s == nil {
			return err
		}
		if s.credit += f.value; s.credit > s.most {
			return fmt.Errorf("%w: credit of %d bytes", tunnel.ErrProtocol, s.credit)
		}
		s.changedLocked()
		return nil
	}
	if c.credit += f.value; c.credit > c.ConnectionWindow {
		return fmt.Errorf("%w: credit of %d bytes", tunnel.ErrProtocol, c.credit)
	}
	for _, s := range c.streams {
		s.changedLocked()
	}
	return nil
}

// takeData hands bytes to their stream, in the pieces that the reader has. Those for a stream that
// has ended are thrown away.
func (c *Conn) takeData(f frame, r *bufio.Reader) error {
	c.mu.Lock()
	c.heard = time.Now()
	s, err := c.findLocked(f.stream)
	if err == nil && (c.window < f.value || s != nil && s.window < f.value) {
		err = fmt.Errorf("%w: more data than was asked for", tunnel.ErrProtocol)
	}
	if s != nil {
		s.window -= f.value
		s.came = c.heard
	}
	c.window -= f.value
	c.mu.Unlock()
	for left := f.value; left > 0 && err == nil; {
		if r.Buffered() == 0 {
			c.expect()
			_, err = r.Peek(1)
		}
		piece, _ := r.Peek(min(left, r.Buffered()))
		c.mu.Lock()
		if s != nil && s.broken == nil && !s.inEnd {
			s.in.add(piece)
			s.changedLocked()
		} else {
			c.takenLocked(len(piece))
		}
		if c.owes() {
			go c.pay()
		}
		c.mu.Unlock()
		left -= len(piece)
		_, _ = r.Discard(len(piece)) // it was just looked at
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
