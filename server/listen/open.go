package listen

import (
	"net"
	"net/netip"
	"sync"

	"skerry.dev/skerry/tunnel"
)

// openLimit is how many connections of the kube API one source may have. One costs about 50 KB while
// it is idle. Many users behind one address, or a load balancer, are fine: a client makes one.
const openLimit = 5000

// openConns counts the connections of the kube API, by source.
type openConns struct {
	most int

	mu sync.Mutex
	by map[netip.Prefix]int
}

// openConn is a connection that is counted until it is closed.
type openConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c openConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// add counts a connection. It returns nil when its source has too many.
func (o *openConns) add(c net.Conn) net.Conn {
	source := tunnel.SourceOf(c.RemoteAddr())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by[source] >= o.most {
		return nil
	}
	o.by[source]++
	return openConn{c, sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.by[source]--; o.by[source] == 0 {
			delete(o.by, source)
		}
	})}
}
