package mux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/traffic"
)

// ErrTooManyStreams is returned by OpenStream when this side has as many streams open as it may,
// and by a Budget that is used up.
var ErrTooManyStreams = errors.New("too many streams are open; try again when some have ended")

// Times of a connection: one that takes nothing for writeTime is dead, and one that is closed waits
// for lingerTime until the other side has read why.
const (
	writeTime  = 60 * time.Second
	lingerTime = time.Second
)

// Options of one side of a connection.
type Options struct {
	Profile
	// Child is true for the side that has dialled.
	Child bool
	// Peer is the proven identity of the other side, Transport what Conn.Transport returns.
	Peer      tunnel.Identity
	Transport string
	// RTT is the round trip as it was measured while dialling, 0 where it is not known.
	RTT time.Duration
	// OnHeartbeat is called with the round trip of each heartbeat. It must not wait. It may be nil.
	OnHeartbeat func(took time.Duration)
	// Budget bounds the windows of all connections that share it; nil does not.
	Budget *Budget
	// Meter counts each frame as traffic.Streams; nil counts nothing.
	Meter *traffic.Meter
}

// Conn is one side of a connection. It implements tunnel.Conn.
type Conn struct {
	Options
	carrier  Carrier
	arrived  chan struct{} // a stream waits to be accepted; one slot
	done     chan struct{}
	received chan struct{} // closed when nothing reads the carrier any more

	writing sync.Mutex // held while a frame is written; never taken with mu held

	mu       sync.Mutex
	err      error
	streams  map[uint32]*stream
	waiting  []*stream // the peer's streams that were not accepted yet
	next     uint32    // the next own stream
	peers    uint32    // the peer's next stream
	opened   int       // own streams that the other side may still count
	admitted int       // the peer's streams that this side has not told to be over
	room     chan struct{}
	credit   int            // what may be sent on all streams
	window   int            // what the peer may still send on all streams
	read     int            // what was read on all streams and not yet credited
	debts    map[uint32]int // credit that is to be told; 0 is the connection
	resets   []uint32       // streams of which the other side is to be told that they are given up
	pong     bool           // a ping is to be answered
	paying   bool           // somebody writes debts, resets and pong
	heard    time.Time
	pinged   time.Time // when this side has asked the last time
	asked    time.Time // when it has sent the ping that is answered next; zero when none is
	rtt      time.Duration
	every    time.Duration // see KeepAlive
	alive    *time.Timer   // nil where this side does not ask
	unused   *time.Timer   // closes a connection without streams; nil where it stands for ever
}

var _ tunnel.Conn = (*Conn)(nil)

// New takes over a carrier.
func New(carrier Carrier, o Options) *Conn {
	c := &Conn{
		Options:  o,
		carrier:  carrier,
		arrived:  make(chan struct{}, 1),
		done:     make(chan struct{}),
		received: make(chan struct{}),
		streams:  map[uint32]*stream{},
		room:     make(chan struct{}),
		credit:   o.ConnectionWindow,
		window:   o.ConnectionWindow,
		debts:    map[uint32]int{},
		heard:    time.Now(),
		rtt:      o.RTT,
		every:    o.Profile.KeepAlive,
		next:     2,
		peers:    1,
	}
	if o.Child {
		c.next, c.peers = 1, 2
	}
	c.mu.Lock()
	if o.Child || o.BothAsk {
		first := c.every
		if c.grows() {
			first = 0 // windows grow by the round trip, which it measures
		}
		c.alive = time.AfterFunc(first, c.keepAlive)
	}
	if o.Unused > 0 {
		c.unused = time.AfterFunc(c.unusedTime(), c.closeUnused)
	}
	c.mu.Unlock()
	go c.receive(bufio.NewReaderSize(carrier, o.ReadBuffer))
	return c
}

// grows reports whether windows may grow.
func (c *Conn) grows() bool { return c.MaxStreamWindow > c.StreamWindow }

// Received is closed when the connection has ended and nothing of it runs any more.
func (c *Conn) Received() <-chan struct{} { return c.received }

// Streams is how many streams are open.
func (c *Conn) Streams() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

// addLocked notes a new stream.
func (c *Conn) addLocked(s *stream) {
	c.streams[s.id] = s
	if c.unused != nil {
		c.unused.Stop()
	}
}

// limits are how many streams this side and the other one may have open.
func (c *Conn) limits() (own, peers int) {
	if c.Child {
		return c.ChildStreams, c.ParentStreams
	}
	return c.ParentStreams, c.ChildStreams
}

// OpenStream implements tunnel.Conn.
func (c *Conn) OpenStream(ctx context.Context) (tunnel.Stream, error) {
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
		if c.FailsFull {
			return nil, fmt.Errorf("open a stream: %w (%d on this connection)", ErrTooManyStreams, limit)
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
	if !c.takeWindow(c.next) {
		return nil, fmt.Errorf("open a stream: %w (the memory for them is used up)", ErrTooManyStreams)
	}
	s := newStream(c, c.next)
	c.addLocked(s)
	c.next += 2
	c.opened++
	return s, nil
}

// Peer implements tunnel.Conn.
func (c *Conn) Peer() tunnel.Identity { return c.Options.Peer }

// Transport implements tunnel.Conn.
func (c *Conn) Transport() string { return c.Options.Transport }

// RemoteAddr implements tunnel.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.carrier.RemoteAddr() }

// Stats implements tunnel.Conn.
func (c *Conn) Stats() tunnel.Stats {
	sent, received := c.carrier.Crossed()
	c.mu.Lock()
	defer c.mu.Unlock()
	return tunnel.Stats{SentBytes: sent, ReceivedBytes: received, RTT: c.rtt}
}

// Crossed implements traffic.Link.
func (c *Conn) Crossed() (sent, received uint64) { return c.carrier.Crossed() }

// Done implements tunnel.Conn.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err implements tunnel.Conn.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// forgetLocked drops a stream. It is counted until the other side knows, see freedLocked. c.mu must
// be held.
func (c *Conn) forgetLocked(s *stream) {
	if c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	delete(c.debts, s.id)
	if !c.own(s.id) {
		c.waiting = slices.DeleteFunc(c.waiting, func(w *stream) bool { return w == s })
	}
	s.releaseLocked()
	if len(c.streams) == 0 && c.unused != nil && c.err == nil {
		c.unused.Reset(c.unusedTime())
	}
}

// freedLocked makes room for another stream when both sides know that one has ended.
// c.mu must be held.
func (c *Conn) freedLocked(id uint32) {
	if !c.own(id) {
		c.admitted--
		return
	}
	c.opened--
	close(c.room)
	c.room = make(chan struct{})
}

// settleLocked forgets a stream both of whose halves have ended. c.mu must be held.
func (c *Conn) settleLocked(s *stream) {
	if c.streams[s.id] == s && s.inEnd && s.outEnd && (s.outDone || !c.own(s.id)) {
		c.forgetLocked(s)
		c.freedLocked(s.id)
	}
}

func (c *Conn) own(id uint32) bool { return id%2 == c.next%2 }
