package gateway

import (
	"net"
	"net/netip"
	"sync"
)

// What pods may have open at the gateway. A data connection has room for 1,000 streams of a child.
const (
	mostConnections    = 512
	mostPerSource      = 64
	mostRequests       = 512
	mostOfSpace        = 256
	mostOfAccount      = 128
	longestAccessToken = 8 << 10
)

// bounded is a listener that closes what comes beyond the limits of connections.
type bounded struct {
	net.Listener

	mu      sync.Mutex
	all     int
	sources map[netip.Addr]int
}

func newBounded(l net.Listener) *bounded { return &bounded{Listener: l, sources: map[netip.Addr]int{}} }

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		if source := at.Addr(); b.take(source) {
			return &counted{Conn: conn, end: sync.OnceFunc(func() { b.give(source) })}, nil
		}
		conn.Close()
	}
}

func (b *bounded) take(source netip.Addr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all >= mostConnections || b.sources[source] >= mostPerSource {
		return false
	}
	b.all++
	b.sources[source]++
	return true
}

func (b *bounded) give(source netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all--
	if b.sources[source]--; b.sources[source] == 0 {
		delete(b.sources, source)
	}
}

// counted is a connection that gives its room back.
type counted struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.end()
	return c.Conn.Close()
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
		if s.spaces[who.space]--; s.spaces[who.space] == 0 {
			delete(s.spaces, who.space)
		}
		if s.accounts[who]--; s.accounts[who] == 0 {
			delete(s.accounts, who)
		}
	}
}
