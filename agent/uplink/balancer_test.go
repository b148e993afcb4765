package uplink

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/tunneltest"
)

// balancer passes TCP connections on to a center, as a load balancer or a firewall between it and
// its sites does, and UDP not at all.
type balancer struct {
	address string

	mu    sync.Mutex
	to    string // where new connections lead
	pairs []*passed
}

// passed is a connection that is passed on.
type passed struct {
	child, parent net.Conn
	forgotten     atomic.Bool // nothing is passed on any more, and nobody is told
}

func newBalancer(t *testing.T, c *center) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", tunneltest.AnyPort())
	must(t, err)
	b := &balancer{address: l.Addr().String(), to: c.address}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			child, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			to := b.to
			b.mu.Unlock()
			parent, err := net.Dial("tcp", to)
			if err != nil {
				child.Close()
				continue
			}
			p := &passed{child: child, parent: parent}
			b.mu.Lock()
			b.pairs = append(b.pairs, p)
			b.mu.Unlock()
			all.Go(func() { p.pass(parent, child) })
			all.Go(func() { p.pass(child, parent) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.each((*passed).reset)
		all.Wait()
	})
	return b
}

func (p *passed) pass(to, from net.Conn) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		forgotten := p.forgotten.Load()
		if err == nil && !forgotten {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			if !forgotten {
				p.reset()
			}
			return
		}
	}
}

// reset ends both connections as one that was cut: without a farewell.
func (p *passed) reset() {
	for _, conn := range []net.Conn{p.child, p.parent} {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// lead passes new connections on to another center.
func (b *balancer) lead(to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = to
}

func (b *balancer) each(do func(*passed)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.pairs {
		do(p)
	}
}

// A balancer that ends connections when it likes: the site comes back each time, and all that
// changes arrives.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	b := newBalancer(t, c)
	s := c.site(t, func(cfg *Config) { cfg.Parents = []string{"https://" + b.address} })
	var longest time.Duration
	for n := range 5 {
		within(t, "a session", func() bool { return c.count() > n && c.transport() == "tcp" })
		c.place(t, s)
		b.each((*passed).reset)
		longest = max(longest, c.place(t, s))
	}
	t.Logf("the slowest change over a cut took %s", longest)
}

// A balancer that forgets a connection and tells nobody: the site notices, and comes over another
// one.
func TestConnectionThatIsForgotten(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	b := newBalancer(t, c)
	s := c.site(t, func(cfg *Config) { cfg.Parents = []string{"https://" + b.address} })
	within(t, "a session", func() bool { return c.transport() == "tcp" })
	c.place(t, s)
	sessions := c.count()
	b.each(func(p *passed) { p.forgotten.Store(true) })
	t.Logf("back after %s", within(t, "another session", func() bool { return c.count() > sessions }))
	c.place(t, s)
}
