package pipe

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel"
)

// ErrCut is why a connection ended that Cut, or Options.CutAfter, has cut.
var ErrCut = errors.New("the connection was cut")

// errCancelled is what both sides of a cancelled stream get.
var errCancelled = errors.New("the stream was cancelled")

// Options of a connection. The zero value is instant and lasts.
type Options struct {
	// Latency is how long bytes take to the other side.
	Latency time.Duration
	// CutAfter cuts the connection behind this many bytes, both directions together. 0 is never.
	CutAfter int
	// Child and Parent are the identities that each side shows to the other. By default
	// Child.Target is "child".
	Child, Parent tunnel.Identity
}

// New returns the two ends of a connection.
func New(o Options) (child, parent *Conn) {
	if o.Child.Target == "" {
		o.Child.Target = "child"
	}
	l := &link{options: o, done: make(chan struct{})}
	child, parent = newConn(l, 0), newConn(l, 1)
	l.ends = [2]*Conn{child, parent}
	return child, parent
}

type side int

// link is what the two ends have in common.
type link struct {
	options Options
	ends    [2]*Conn
	done    chan struct{}

	mu      sync.Mutex
	err     error
	counts  [2]uint64
	streams []*half
}

// spend counts bytes and returns how many of them still pass.
func (l *link) spend(from side, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.options; o.CutAfter > 0 {
		n = max(0, min(n, o.CutAfter-int(l.counts[0]+l.counts[1])))
	}
	l.counts[from] += uint64(n)
	return n
}

func (l *link) spent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.options.CutAfter > 0 && int(l.counts[0]+l.counts[1]) >= l.options.CutAfter
}

// end breaks everything, once. It reports whether it did.
func (l *link) end(err error) bool {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return false
	}
	l.err = err
	streams := l.streams
	l.streams = nil
	close(l.done)
	l.mu.Unlock()
	for _, h := range streams {
		h.cut(err)
	}
	return true
}

func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Conn is one end. It implements tunnel.Conn.
type Conn struct {
	link     *link
	side     side
	incoming chan *stream
	own      atomic.Pointer[error] // why this end closed the link, if it did
}

var _ tunnel.Conn = (*Conn)(nil)

// backlog is how many streams may wait to be accepted.
const backlog = 64

func newConn(l *link, s side) *Conn {
	return &Conn{link: l, side: s, incoming: make(chan *stream, backlog)}
}

// OpenStream implements tunnel.Conn.
func (c *Conn) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	if err := c.link.cause(); err != nil {
		return nil, err
	}
	out, back := newHalf(c.link, c.side), newHalf(c.link, 1-c.side)
	c.link.mu.Lock()
	c.link.streams = append(c.link.streams, out, back)
	c.link.mu.Unlock()
	return &stream{out: out, in: back, show: sync.OnceFunc(func() {
		select {
		case c.link.ends[1-c.side].incoming <- &stream{out: back, in: out, show: func() {}}:
		case <-c.link.done:
		case <-ctx.Done():
		}
	})}, nil
}

// AcceptStream implements tunnel.Conn.
func (c *Conn) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	select {
	case s := <-c.incoming:
		return s, nil
	case <-c.link.done:
		return nil, c.link.cause()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Peer implements tunnel.Conn.
func (c *Conn) Peer() tunnel.Identity {
	if c.side == 0 {
		return c.link.options.Parent
	}
	return c.link.options.Child
}

// Transport implements tunnel.Conn.
func (c *Conn) Transport() string { return "pipe" }

// RemoteAddr implements tunnel.Conn.
func (c *Conn) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// Stats implements tunnel.Conn.
func (c *Conn) Stats() tunnel.Stats {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return tunnel.Stats{
		SentBytes:     c.link.counts[c.side],
		ReceivedBytes: c.link.counts[1-c.side],
		RTT:           2 * c.link.options.Latency,
	}
}

// Done implements tunnel.Conn.
func (c *Conn) Done() <-chan struct{} { return c.link.done }

// Err implements tunnel.Conn.
func (c *Conn) Err() error {
	if own := c.own.Load(); own != nil {
		return *own
	}
	return c.link.cause()
}

// Close implements tunnel.Conn.
func (c *Conn) Close(reason error) error {
	text := ""
	if reason != nil {
		text = reason.Error()
	}
	if c.link.end(tunnel.ReasonOf(tunnel.CodeOf(reason), text)) {
		own := tunnel.ClosedHere(reason)
		c.own.Store(&own)
	}
	return nil
}

// Cut breaks the connection. Neither side is told why.
func (c *Conn) Cut() { c.link.end(ErrCut) }

// stream is one end of a stream.
type stream struct {
	out, in *half
	show    func() // makes the stream known to the other side, once
}

func (s *stream) Read(b []byte) (int, error) { return s.in.read(b) }

func (s *stream) Write(b []byte) (int, error) {
	s.show()
	return s.out.write(b)
}

func (s *stream) Close() error {
	s.show()
	s.out.finish()
	return nil
}

func (s *stream) Cancel() {
	s.out.cut(errCancelled)
	s.in.cut(errCancelled)
}

func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline is of Read alone.
func (s *stream) SetReadDeadline(t time.Time) error {
	s.in.setDeadline(reading, t)
	return nil
}

// SetWriteDeadline is of Write alone.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.out.setDeadline(writing, t)
	return nil
}
