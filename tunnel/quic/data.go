package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// A data connection has one stream of QUIC, which carries a multiplexer's. Who reads it never
// waits, so its windows hold only what came out of order.
const (
	dataWindow = 6 << 20
	dataIdle   = 9 * time.Second
)

// DataConfig says which data connections a parent lets in.
type DataConfig struct {
	// Expects reports whether one may come from somewhere now: QUIC has to choose windows before
	// anybody has said what he speaks. A data connection that is not expected from where it comes
	// is slow.
	Expects func(source netip.Prefix) bool
	// Take gets each one, whose certificate was verified, and must not wait.
	Take func(*Data)
	// Budget bounds how far the windows of all of them grow; nil does not.
	Budget *mux.Budget
}

// Data is a data connection on which nothing was said yet. It implements data.Bare.
type Data struct {
	*conn
	opens bool
}

// Carry returns the connection's only stream.
func (d *Data) Carry(ctx context.Context) (mux.Carrier, error) {
	open := d.AcceptStream
	if d.opens {
		open = d.OpenStream
	}
	s, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return mux.OverStream(d.conn, s)
}

// errOtherSocket is returned where a session has no socket that another connection can share.
var errOtherSocket = errors.New("the session has no UDP socket any more")

// DialData dials a data connection over the socket of a session, which Dial has returned. It needs
// the same TLS configuration. The socket stays until both have ended.
func DialData(ctx context.Context, session tunnel.Conn, config *tls.Config,
	budget *mux.Budget) (*Data, error) {
	c, ok := session.(*conn)
	if !ok || c.socket == nil || !c.socket.join() {
		return nil, fmt.Errorf("dial parent: %w", errOtherSocket)
	}
	config = config.Clone()
	config.NextProtos = []string{tunnel.DataALPN}
	grown := &growth{budget: budget}
	q, err := c.socket.transport.Dial(ctx, c.socket.remote, config, grown.childConfig())
	if err != nil {
		c.socket.leave()
		return nil, fmt.Errorf("dial parent: %w", err)
	}
	context.AfterFunc(q.Context(), func() {
		grown.release()
		c.socket.leave()
	})
	return &Data{&conn{quic: q}, true}, nil
}

// growth is by how much the window of a data connection has grown, out of a budget.
type growth struct {
	budget *mux.Budget

	mu    sync.Mutex
	bytes int
	over  bool
}

// allow implements quicgo.Config.AllowConnectionWindowIncrease.
func (g *growth) allow(delta uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || !g.budget.TakeExtra(int(delta)) {
		return false
	}
	g.bytes += int(delta)
	return true
}

func (g *growth) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget.Release(g.bytes)
	g.bytes, g.over = 0, true
}

// dataLimits are what a data connection has besides what common says.
func dataLimits(c *quicgo.Config) *quicgo.Config {
	c.MaxStreamReceiveWindow, c.MaxConnectionReceiveWindow = dataWindow, dataWindow
	return c
}

func (g *growth) childConfig() *quicgo.Config {
	c := dataLimits(common())
	c.HandshakeIdleTimeout, c.MaxIdleTimeout = childHandshakeIdle, dataIdle
	c.MaxIncomingStreams = -1
	c.AllowConnectionWindowIncrease = func(_ *quicgo.Conn, delta uint64) bool { return g.allow(delta) }
	return c
}

// dataConns are the data connections of a listener.
type dataConns struct {
	cfg DataConfig

	mu    sync.Mutex
	grown map[*quicgo.Conn]*growth
}

func newDataConns(cfg DataConfig) *dataConns {
	return &dataConns{cfg: cfg, grown: map[*quicgo.Conn]*growth{}}
}

// parentConfig is that of a session, unless a data connection may come from there: then the windows
// of streams may grow, and that of the connection does once it is known to be one.
func (d *dataConns) parentConfig() *quicgo.Config {
	session, either := parentConfig(), dataLimits(parentConfig())
	either.AllowConnectionWindowIncrease = d.allow
	config := parentConfig()
	config.GetConfigForClient = func(info *quicgo.ClientInfo) (*quicgo.Config, error) {
		if d.cfg.Expects != nil && d.cfg.Expects(tunnel.SourceOf(info.RemoteAddr)) {
			return either, nil
		}
		return session, nil
	}
	return config
}

func (d *dataConns) allow(q *quicgo.Conn, delta uint64) bool {
	d.mu.Lock()
	g := d.grown[q]
	d.mu.Unlock()
	return g != nil && g.allow(delta)
}

// take hands a data connection on.
func (d *dataConns) take(q *quicgo.Conn, peer tunnel.Identity) {
	c := &Data{&conn{quic: q, peer: peer}, false}
	if d.cfg.Take == nil {
		_ = c.Close(tunnel.ErrUnasked)
		return
	}
	g := &growth{budget: d.cfg.Budget}
	d.mu.Lock()
	d.grown[q] = g
	d.mu.Unlock()
	context.AfterFunc(q.Context(), func() {
		d.mu.Lock()
		delete(d.grown, q)
		d.mu.Unlock()
		g.release()
	})
	d.cfg.Take(c)
}
