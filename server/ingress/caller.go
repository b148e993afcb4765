package ingress

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"skerry.dev/skerry/tunnel/exchange"
)

type connKey struct{}

func connOf(ctx context.Context) *caller {
	c, _ := ctx.Value(connKey{}).(*caller)
	return c
}

// caller is a connection of somebody from outside.
type caller struct {
	net.Conn
	ports    *ports
	from     net.Addr // who calls
	balanced bool     // by a load balancer
	source   netip.Prefix
	ahead    []byte // of what was read
	once     sync.Once

	mu     sync.Mutex
	space  string // the first one that it was for
	leave  func()
	beside map[*tied]bool // end with it
	ended  bool
}

// Read implements net.Conn.
func (c *caller) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// unread has what was read be read again.
func (c *caller) unread(b []byte) { c.ahead = append(b, c.ahead...) }

// RemoteAddr implements net.Conn. It is the caller's address, also behind a load balancer.
func (c *caller) RemoteAddr() net.Addr { return c.from }

// CloseWrite implements exchange.CloseWriter.
func (c *caller) CloseWrite() error { return closeWrite(c.Conn) }

// claim counts the connection for a space. It reports false where that has too many. One connection counts for the
// first space that it is used for.
func (c *caller) claim(space string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.space != "" || c.ended {
		return true
	}
	if c.leave = c.ports.spaces.Take(space); c.leave == nil {
		return false
	}
	c.space = space
	return true
}

// tied is a connection to a Service that ends with a caller's.
type tied struct {
	net.Conn
	to *caller
}

// Close implements net.Conn.
func (t *tied) Close() error {
	t.to.mu.Lock()
	delete(t.to.beside, t)
	t.to.mu.Unlock()
	return t.Conn.Close()
}

// CloseWrite implements exchange.CloseWriter.
func (t *tied) CloseWrite() error { return closeWrite(t.Conn) }

// also has a connection end with the caller's.
func (c *caller) also(of net.Conn) net.Conn {
	t := &tied{of, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		of.Close()
		return t
	}
	if c.beside == nil {
		c.beside = map[*tied]bool{}
	}
	c.beside[t] = true
	return t
}

func closeWrite(c net.Conn) error {
	if half, can := c.(exchange.CloseWriter); can {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// Close implements net.Conn.
func (c *caller) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.mu.Lock()
		c.ended = true
		leave, beside := c.leave, slices.Collect(maps.Keys(c.beside))
		c.mu.Unlock()
		if leave != nil {
			leave()
		}
		for _, t := range beside {
			t.Close()
		}
		p := c.ports
		p.mu.Lock()
		delete(p.open, c)
		if c.source.IsValid() {
			if p.sources[c.source]--; p.sources[c.source] == 0 {
				delete(p.sources, c.source)
			}
		}
		p.mu.Unlock()
		p.cfg.Metrics.open.Dec()
		p.conns.Done()
	})
	return err
}
