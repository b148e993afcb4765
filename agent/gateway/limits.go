package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// What pods may have open at the gateway. A data connection has room for 1,000 streams of a child.
const (
	mostConnections        = 512
	mostConnectionsOfSpace = 256
	mostPerSource          = 128
	mostPerShare           = 64
	mostRequests           = 512
	mostOfSpace            = 256
	mostOfAccount          = 128
	longestAccessToken     = 8 << 10
)

// share is the connections of a space from one source: the pods of a node may look like one.
type share struct {
	source netip.Addr
	space  string
}

// bounded is a listener that bounds the connections. Those that have shown no token yet, the
// strangers, give way: the oldest is closed for one that comes when there is no room.
type bounded struct {
	net.Listener

	mu        sync.Mutex
	all       int
	sources   map[netip.Addr]int
	strangers []*counted // in the order in which they came
	spaces    map[string]int
	shares    map[share]int
}

func newBounded(l net.Listener) *bounded {
	return &bounded{Listener: l, sources: map[netip.Addr]int{}, spaces: map[string]int{}, shares: map[share]int{}}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		c := &counted{Conn: conn, of: b, source: at.Addr()}
		taken, stranger := b.take(c)
		for !taken && stranger != nil {
			stranger.Close()
			taken, stranger = b.take(c)
		}
		if taken {
			return c, nil
		}
		conn.Close()
	}
}

// take takes room for a connection. Where there is none it returns the stranger that has to go, nil
// for none.
func (b *bounded) take(c *counted) (taken bool, stranger *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	crowded := b.sources[c.source] >= mostPerSource
	if crowded || b.all >= mostConnections {
		for _, s := range b.strangers {
			if !crowded || s.source == c.source {
				return false, s
			}
		}
		return false, nil
	}
	b.all++
	b.sources[c.source]++
	b.strangers = append(b.strangers, c)
	return true, nil
}

// prove notes that a connection has shown a token of a space. It reports false where the space has
// as many as it may, and where the connection is closed.
func (b *bounded) prove(c *counted, space string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := share{c.source, space}
	switch {
	case c.closed:
		return false
	case c.space != "":
		return true // it was counted for the space that it has asked first
	case b.spaces[space] >= mostConnectionsOfSpace, b.shares[of] >= mostPerShare:
		return false
	}
	c.space = space
	b.spaces[space]++
	b.shares[of]++
	b.strangers = slices.DeleteFunc(b.strangers, func(s *counted) bool { return s == c })
	return true
}

func (b *bounded) give(c *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	b.all--
	less(b.sources, c.source)
	if c.space == "" {
		b.strangers = slices.DeleteFunc(b.strangers, func(s *counted) bool { return s == c })
		return
	}
	less(b.spaces, c.space)
	less(b.shares, share{c.source, c.space})
}

func less[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] == 0 {
		delete(counts, of)
	}
}

// counted is a connection that gives its room back.
type counted struct {
	net.Conn
	of     *bounded
	source netip.Addr

	space  string // whose token it has shown; guarded by of.mu
	closed bool   // guarded by of.mu
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.of.give(c)
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection is the context of the requests on a connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// proven notes that the connection of a request has shown a token of a space, see bounded.prove.
func proven(ctx context.Context, space string) bool {
	c, ok := ctx.Value(connectionKey{}).(*counted)
	return ok && c.of.prove(c, space)
}

// seats counts the requests that are answered side by side.
type seats struct {
	mu       sync.Mutex
	all      int
	spaces   map[string]int
	accounts map[identity]int
}

// take takes a seat, and returns what gives it back; nil where there is none.
func (s *seats) take(who identity) (give func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= mostRequests || s.spaces[who.space] >= mostOfSpace || s.accounts[who] >= mostOfAccount {
		return nil
	}
	s.all++
	s.spaces[who.space]++
	s.accounts[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		less(s.spaces, who.space)
		less(s.accounts, who)
	}
}
