package tunneltest

import (
	"context"
	"errors"
	"net"
	"os"

	"google.golang.org/grpc/test/bufconn"
)

// memoryBytes is how much a connection of Memory buffers each way.
const memoryBytes = 64 << 10

// Memory is a listener whose connections stay in memory. A test in a bubble of testing/synctest can
// wait for them: nobody else wakes a goroutine that reads one.
type Memory struct{ listener *bufconn.Listener }

// NewMemory returns a listener that takes connections until it is closed.
func NewMemory() *Memory { return &Memory{bufconn.Listen(memoryBytes)} }

// DialContext connects to the listener, whatever the address is.
func (m *Memory) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := m.listener.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	return memoryConn{c}, nil
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	c, err := m.listener.Accept()
	if err != nil {
		return nil, net.ErrClosed
	}
	return memoryConn{c}, nil
}

// Close implements net.Listener.
func (m *Memory) Close() error { return m.listener.Close() }

// Addr implements net.Listener.
func (m *Memory) Addr() net.Addr { return m.listener.Addr() }

// memoryConn tells of a deadline as sockets do. TLS gives a connection up after any other error.
type memoryConn struct{ net.Conn }

func (c memoryConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, late(err)
}

func (c memoryConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, late(err)
}

func late(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return os.ErrDeadlineExceeded
	}
	return err
}
