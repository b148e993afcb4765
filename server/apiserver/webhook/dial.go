package webhook

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// dialTime is how long it may take to reach a Pod, a new data connection to its site included.
	dialTime = 15 * time.Second
	// caller is who calls, in the audit log of a site.
	caller = "system:skerry:webhooks"
)

// Unreached is the error for a Pod that no connection could be made to.
type Unreached struct {
	// Site are the targets that were asked, with slashes between them.
	Site string
	Why  string
	// Away says that the site could not be asked, full that it takes no more connections.
	Away, full bool
}

// Error implements error.
func (e *Unreached) Error() string { return "site " + e.Site + ": " + e.Why }

// Caller is who a connection is made for, in the audit log of a site.
type Caller struct {
	Name   string
	Groups []string
}

// Dial connects to the port of a Pod, which is of the space and the namespace of a Service. Its
// error is an *Unreached. The connection outlives ctx.
func Dial(ctx context.Context, sites Sites, of Service, b Backend, by Caller) (net.Conn, error) {
	r := (&exchange.Request{
		Space: of.Space, Namespace: of.Namespace, Verb: exchange.Connect,
		Query:   url.Values{exchange.OptionPort: {strconv.Itoa(int(b.Port))}},
		Upgrade: exchange.Bytes(),
	}).At(b.Place)
	r.Identify(by.Name, by.Groups)
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	life, end := context.WithCancel(context.Background()) // the connection outlives its first call
	stop := context.AfterFunc(ctx, end)
	resp, err := sites.Do(life, b.Place.Target, r)
	if !stop() { // too late
		if err == nil {
			resp.Body.Close()
		}
		return nil, &Unreached{Site: b.Place.Target, Why: fmt.Sprintf(
			"no connection to pod %s in time (%v)", b.Pod, context.Cause(ctx),
		), Away: true}
	}
	if err != nil {
		end()
		return nil, unreached(b.Place.Target, exchange.FaultOf(err))
	}
	site := resp.Header.Get(exchange.HeaderSite)
	if site == "" {
		site = b.Place.Target
	}
	conn, err := exchange.Connection(resp)
	if err != nil {
		end()
		return nil, unreached(site, exchange.FaultOf(err))
	}
	return &podConn{ReadWriteCloser: conn, end: end, to: address(site + "/" + b.Pod)}, nil
}

func unreached(site string, f *exchange.Fault) *Unreached {
	return &Unreached{
		Site: site, Why: f.Message,
		Away: f.Code == http.StatusServiceUnavailable, full: f.Code == http.StatusTooManyRequests,
	}
}

// podConn is a connection to a port of a Pod.
type podConn struct {
	io.ReadWriteCloser
	end func()
	to  address

	mu   sync.Mutex
	late *time.Timer
}

var _ net.Conn = (*podConn)(nil)

// Close implements net.Conn.
func (c *podConn) Close() error {
	defer c.end()
	return c.ReadWriteCloser.Close()
}

// SetDeadline implements net.Conn: the connection is closed then. Nobody uses one after that.
func (c *podConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late != nil {
		c.late.Stop()
	}
	if !t.IsZero() {
		c.late = time.AfterFunc(time.Until(t), func() { _ = c.Close() })
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *podConn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *podConn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// LocalAddr implements net.Conn.
func (*podConn) LocalAddr() net.Addr { return address("center") }

// RemoteAddr implements net.Conn.
func (c *podConn) RemoteAddr() net.Addr { return c.to }

// address names a Pod: SITE/POD.
type address string

// Network implements net.Addr.
func (address) Network() string { return "stream" }

// String implements net.Addr.
func (a address) String() string { return string(a) }
