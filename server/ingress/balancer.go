package ingress

import (
	"bufio"
	"net"
	"net/netip"
	"slices"

	proxyproto "github.com/pires/go-proxyproto"
)

// mostIntroduction bounds what is read while a load balancer says who calls, with what it adds to that.
const mostIntroduction = 4 << 10

// balances reports whether an address is that of a load balancer.
func (c *Config) balances(a net.Addr) bool {
	of, is := a.(*net.TCPAddr)
	if !is {
		return false
	}
	at := of.AddrPort().Addr().Unmap().WithZone("")
	return slices.ContainsFunc(c.Balancers, func(n netip.Prefix) bool { return n.Contains(at) })
}

// introduced reads who calls by a load balancer, and counts the connection for them. It reports false where the
// balancer does not say so, or they have too many.
func (p *ports) introduced(c *caller) bool {
	r := bufio.NewReaderSize(c.Conn, mostIntroduction)
	head, err := proxyproto.Read(r)
	if err != nil {
		p.cfg.Metrics.refused.WithLabelValues("balancer").Inc()
		p.cfg.Log.Debug("a load balancer does not say who calls", "from", c.from, "err", err)
		return false
	}
	if from, is := head.SourceAddr.(*net.TCPAddr); is && head.Command.IsProxy() {
		c.from = from // else it calls itself, such as for its checks
	}
	ahead, _ := r.Peek(r.Buffered())
	c.unread(slices.Clone(ahead))
	p.mu.Lock()
	_, open := p.open[c]
	counted := open && p.countLocked(c)
	p.mu.Unlock()
	if open && !counted {
		p.cfg.Metrics.refused.WithLabelValues("source").Inc()
	}
	return counted
}
