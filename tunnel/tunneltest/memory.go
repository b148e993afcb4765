package tunneltest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memoryBytes is how much a connection of Memory buffers each way.
const memoryBytes = 64 << 10

// Memory is a listener whose connections stay in memory. A test in a bubble of testing/synctest can
// wait for them: nobody else wakes a goroutine that reads one.
type Memory struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewMemory returns a listener that takes connections until it is closed.
func NewMemory() *Memory { return &Memory{dialed: make(chan net.Conn), closed: make(chan struct{})} }

// DialContext connects to the listener, whatever the address is, once the listener accepts.
func (m *Memory) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	there, back := newMemoryPipe(), newMemoryPipe()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.closed:
		return nil, net.ErrClosed
	case m.dialed <- &memoryConn{in: there, out: back}:
		return &memoryConn{in: back, out: there}, nil
	}
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case <-m.closed:
		return nil, net.ErrClosed
	case c := <-m.dialed:
		return c, nil
	}
}

// Close implements net.Listener. Connections that were accepted go on.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *Memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// memoryConn is one end of a connection.
type memoryConn struct{ in, out *memoryPipe }

func (c *memoryConn) Read(b []byte) (int, error)         { return c.in.read(b) }
func (c *memoryConn) Write(b []byte) (int, error)        { return c.out.write(b) }
func (c *memoryConn) LocalAddr() net.Addr                { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr               { return memoryAddr{} }
func (c *memoryConn) SetReadDeadline(t time.Time) error  { return c.in.expire(&c.in.readUntil, t) }
func (c *memoryConn) SetWriteDeadline(t time.Time) error { return c.out.expire(&c.out.writeUntil, t) }

func (c *memoryConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *memoryConn) Close() error {
	c.in.end(func() { c.in.noReader = true })
	c.out.end(func() { c.out.noWriter = true })
	return nil
}

// memoryPipe is one direction of a connection.
type memoryPipe struct {
	mu                    sync.Mutex
	changed               *sync.Cond
	held                  []byte // written and not read, at most memoryBytes
	noReader, noWriter    bool
	readUntil, writeUntil memoryDeadline
}

func newMemoryPipe() *memoryPipe {
	p := &memoryPipe{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// memoryDeadline is a moment that ends waiting, the zero time for none. The clock alone says whether it has
// passed. The timer wakes who waits, so one that comes late for a deadline that was taken back does
// nothing.
type memoryDeadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *memoryDeadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (p *memoryPipe) expire(d *memoryDeadline, at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == &p.readUntil && p.noReader || d == &p.writeUntil && p.noWriter {
		return io.ErrClosedPipe
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at, d.timer = at, nil
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, p.wake)
	}
	p.changed.Broadcast()
	return nil
}

func (p *memoryPipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

func (p *memoryPipe) end(mark func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mark()
	for _, d := range []*memoryDeadline{&p.readUntil, &p.writeUntil} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
	p.changed.Broadcast()
}

func (p *memoryPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.noReader:
			return 0, io.ErrClosedPipe
		case p.readUntil.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p.held) > 0 || len(b) == 0:
			n := copy(b, p.held)
			p.held = p.held[n:]
			p.changed.Broadcast()
			return n, nil
		case p.noWriter:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

func (p *memoryPipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch room := memoryBytes - len(p.held); {
		case p.noReader || p.noWriter:
			return n, io.ErrClosedPipe
		case p.writeUntil.passed():
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		case room > 0:
			fits := min(room, len(b)-n)
			p.held = append(p.held, b[n:n+fits]...)
			n += fits
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}
