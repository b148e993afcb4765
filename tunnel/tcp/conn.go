package tcp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Windows and streams bound what a peer can make this side hold, as in package quic: for each stream, for all of a connection.
const (
	streamWindow       = 128 << 10
	connectionWindow   = 512 << 10
	maxStreams         = 16   // that a child may have open
	maxStreamsOfParent = 1024 // that its parent may
)

// backlog is how many times the streams that a child may have open wait to be accepted: those that came and went count, too.
const backlog = 4

// Times of a connection. A child asks whether its parent is still there when it has heard nothing for as long as KeepAlive says; a connection
// on which nothing comes for tunnel.Idle is dead, and so is one that takes nothing for writeTime.
const (
	writeTime  = 60 * time.Second
	lingerTime = time.Second
)

// readBuffer is what an idle connection holds to read the heads of frames.
const readBuffer = 2 << 10

// conn is one side of a connection.
type conn struct {
	tls    *tls.Conn
	meter  *Meter
	peer   tunnel.Identity
	child  bool
	accept chan *stream
	done   chan struct{}

	writing sync.Mutex // held while a frame is written; never taken with mu held

	mu       sync.Mutex
	err      error
	streams  map[uint32]*stream
	next     uint32 // the next own stream
	peers    uint32 // the peer's next stream
	opened   int    // own streams that the other side may still count
	admitted int    // the peer's streams
	room     chan struct{}
	credit   int            // what may be sent on all streams
	window   int            // what the peer may still send on all streams
	read     int            // what was read on all streams and not yet credited
	debts    map[uint32]int // credit that is to be told; 0 is the connection
	pong     bool           // a ping is to be answered
	paying   bool           // somebody writes debts and pong
	heard    time.Time
	pinged   time.Time
	rtt      time.Duration
	every    time.Duration // see KeepAlive
	alive    *time.Timer
}

// newConn takes over a connection whose handshake is done.
func newConn(t *tls.Conn, meter *Meter, peer tunnel.Identity, child bool, rtt time.Duration) *conn {
	c := &conn{tls: t, meter: meter, peer: peer, child: child, done: make(chan struct{}), streams: map[uint32]*stream{}, room: make(chan struct{}),
		credit: connectionWindow, window: connectionWindow, debts: map[uint32]int{}, heard: time.Now(), rtt: rtt, every: tunnel.IdleKeepAlive}
	c.next, c.peers, c.accept = 2, 1, make(chan *stream, backlog*maxStreams)
	if child {
		c.next, c.peers, c.accept = 1, 2, make(chan *stream, maxStreamsOfParent)
		c.alive = time.AfterFunc(tunnel.IdleKeepAlive, c.keepAlive)
	}
	go c.receive(bufio.NewReaderSize(t, readBuffer))
	return c
}

// limits are how many streams this side and the other one may have open.
func (c *conn) limits() (own, peers int) {
	if c.child {
		return maxStreams, maxStreamsOfParent
	}
	return maxStreamsOfParent, maxStreams
}

// OpenStream implements tunnel.Conn.
func (c *conn) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	limit, _ := c.limits()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.err != nil {
			return nil, fmt.Errorf("open a stream: %w", c.err)
		}
		if c.opened < limit {
			break
		}
		room := c.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-c.done:
		case <-ctx.Done():
			c.mu.Lock()
			return nil, fmt.Errorf("open a stream: %w", ctx.Err())
		}
		c.mu.Lock()
	}
	s := newStream(c, c.next)
	c.streams[s.id] = s
	c.next += 2
	c.opened++
	return s, nil
}

// AcceptStream implements tunnel.Conn.
func (c *conn) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("accept a stream: %w", err)
	}
	select {
	case s := <-c.accept:
		return s, nil
	case <-c.done:
		return nil, fmt.Errorf("accept a stream: %w", c.Err())
	case <-ctx.Done():
		return nil, fmt.Errorf("accept a stream: %w", ctx.Err())
	}
}

// Peer implements tunnel.Conn.
func (c *conn) Peer() tunnel.Identity { return c.peer }

// Transport implements tunnel.Conn.
func (c *conn) Transport() string { return "tcp" }

// RemoteAddr implements tunnel.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.tls.RemoteAddr() }

// Stats implements tunnel.Conn. What TCP and IP add is not known here.
func (c *conn) Stats() tunnel.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tunnel.Stats{SentBytes: c.meter.sent.Load(), ReceivedBytes: c.meter.received.Load(), RTT: c.rtt}
}

// Done implements tunnel.Conn.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err implements tunnel.Conn.
func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements tunnel.Conn. The other side is told in a moment or not at all: the connection ends either way.
func (c *conn) Close(reason error) error {
	text := ""
	if reason != nil && !errors.Is(reason, context.Canceled) {
		text = reason.Error()
	}
	text = text[:min(len(text), maxReason)]
	code := tunnel.CodeOf(reason)
	if !c.end(tunnel.ReasonOf(code, text)) {
		return nil
	}
	_ = c.tls.SetWriteDeadline(time.Now().Add(lingerTime)) // also for somebody who is writing now
	c.writing.Lock()
	defer c.writing.Unlock()
	b := frame{kind: frameClose, stream: uint32(code), value: len(text)}.append(nil)
	_, err := c.tls.Write(append(b, text...))
	if err == nil {
		err = c.tls.CloseWrite()
	}
	if err != nil { // the other side is gone
		_ = c.tls.NetConn().Close()
		return nil
	}
	// What the other side has sent meanwhile must be read, or the kernel resets the connection before the reason has arrived.
	_ = c.tls.SetReadDeadline(time.Now().Add(lingerTime)) // fails when that is so already
	return nil
}

// end breaks everything, once. It tells whether it did.
func (c *conn) end(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	if c.alive != nil {
		c.alive.Stop()
	}
	for _, s := range c.streams {
		s.breakOff(err)
	}
	close(c.done)
	return true
}

// forget drops a stream; the caller holds mu. The other side counts an own stream until it is told, see told.
func (c *conn) forget(s *stream) {
	if c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	delete(c.debts, s.id)
	if !c.own(s) {
		c.admitted--
	}
}

// told is called when the other side knows that an own stream has ended, so that there is room for another.
func (c *conn) told(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freed(s)
}

func (c *conn) freed(s *stream) {
	if c.own(s) {
		c.opened--
		close(c.room)
		c.room = make(chan struct{})
	}
}

// settle forgets a stream both of whose halves have ended; the caller holds mu.
func (c *conn) settle(s *stream) {
	if c.streams[s.id] == s && s.inEnd && s.outEnd && (s.outDone || !c.own(s)) {
		c.forget(s)
		c.freed(s)
	}
}

func (c *conn) own(s *stream) bool { return s.id%2 == c.next%2 }
