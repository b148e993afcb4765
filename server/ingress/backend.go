package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// connectTime is how long a connection is tried while nobody says that anything moves. Connect itself asks each site.
	connectTime = time.Second
	// holdTime is how long a request waits for what is on its way, holdEvery how often one asks.
	holdTime  = 30 * time.Second
	holdEvery = 250 * time.Millisecond
	// headTime is how long a backend may take for the head of its answer.
	headTime = 5 * time.Minute
	// idleTime is how long a connection to a backend is kept that nobody uses: each counts at its site
	// (exchange.MostServicesOfSpace). mostIdle is how many are kept, mostIdleOfCaller how many for one connection of a
	// caller.
	idleTime         = 5 * time.Second
	mostIdle         = 256
	mostIdleOfCaller = 16
	// mostHead bounds the head of an answer, in bytes.
	mostHead = 256 << 10
)

// backend is a port of a Service, and the connections to it.
type backend struct {
	to  To
	cfg *Config
	// pooled keeps connections, each for one connection of a caller: policies were asked about that. once does not: while
	// what answers moves, a request must not meet a connection to a Pod that ends. Nor does one after that: pooled is
	// another one then.
	pooled atomic.Pointer[http.Transport]
	once   *http.Transport
	moving atomic.Bool // it was so for the last request
	held   ondemand.Asker
}

func newBackend(to To, cfg *Config) *backend {
	b := &backend{to: to, cfg: cfg}
	b.pooled.Store(b.transport())
	b.once = b.transport()
	b.once.DisableKeepAlives = true
	return b
}

func (b *backend) transport() *http.Transport {
	return &http.Transport{
		DialContext:         b.dial,
		DisableCompression:  true, // what the caller asks for passes
		MaxIdleConns:        mostIdle,
		MaxIdleConnsPerHost: mostIdleOfCaller, IdleConnTimeout: idleTime,
		ResponseHeaderTimeout:  headTime,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: mostHead,
		Protocols:              b.to.protocols(),
	}
}

// protocols are those that it is asked by.
func (t To) protocols() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(!t.HTTP2)
	p.SetUnencryptedHTTP2(t.HTTP2)
	return &p
}

// close lets go of connections that nobody uses. Requests go on.
func (b *backend) close() {
	b.pooled.Load().CloseIdleConnections()
	b.once.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	moving := b.cfg.Moves(b.to.Service)
	if was := b.moving.Swap(moving); was != moving {
		b.pooled.Swap(b.transport()).CloseIdleConnections()
	}
	if moving {
		return b.once.RoundTrip(r)
	}
	return b.pooled.Load().RoundTrip(r)
}

// dial connects, for a caller whose address and port are those of the URL: a Transport keeps connections by that. The
// connection ends with the caller's.
func (b *backend) dial(ctx context.Context, _, address string) (net.Conn, error) {
	caller, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("caller %q: %w", address, err)
	}
	conn, err := b.connect(ctx, caller.Addr())
	if c := connOf(ctx); c != nil && err == nil {
		return c.also(conn), nil
	}
	return conn, err
}

// connect connects to the Service for a caller. It waits for what is on its way to another site.
func (b *backend) connect(ctx context.Context, caller netip.Addr) (net.Conn, error) {
	for end := time.Now().Add(connectTime); ; {
		conn, err := b.call(ctx, caller)
		switch {
		case exchange.IsMoving(err):
			held, stop := context.WithTimeoutCause(ctx, holdTime, err)
			defer stop()
			return b.hold(held, caller)
		case err == nil, exchange.IsDenied(err), ctx.Err() != nil, time.Now().After(end):
			return conn, err
		}
		if exchange.FaultOf(err).Code == http.StatusTooManyRequests {
			b.pooled.Load().CloseIdleConnections() // which counts, too
		}
		if !ondemand.Pause(ctx, holdEvery) {
			return nil, context.Cause(ctx)
		}
	}
}

// hold waits until something answers. One of those that wait asks for all.
func (b *backend) hold(ctx context.Context, caller netip.Addr) (net.Conn, error) {
	for {
		end, asked := b.held.Turn()
		if end != nil {
			defer end()
			for {
				if !ondemand.Pause(ctx, holdEvery) {
					return nil, context.Cause(ctx)
				}
				if conn, err := b.call(ctx, caller); !exchange.IsMoving(err) {
					return conn, err
				}
			}
		}
		select {
		case <-asked:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if conn, err := b.call(ctx, caller); !exchange.IsMoving(err) {
			return conn, err
		}
	}
}

// call asks for a connection once. It outlives ctx, which is that of the request that it is made for.
func (b *backend) call(ctx context.Context, caller netip.Addr) (net.Conn, error) {
	k := b.to.Service
	r := exchange.ToService(k.Space, k.Namespace, k.Name, "", b.to.Port)
	r.Origin, r.Caller = b.to.UID, exchange.Caller{Address: caller}.Encode()
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	resp, err := b.cfg.Connect(own, r)
	if err == nil && !stop() {
		resp.Body.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	stream, err := exchange.Connection(resp)
	if err != nil {
		cancel()
		return nil, err
	}
	return &conn{ReadWriteCloser: stream, end: cancel}, nil
}

// conn is a connection to a Service as net/http needs it. Nothing here sets deadlines.
type conn struct {
	io.ReadWriteCloser
	end context.CancelFunc
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.end()
	return c.ReadWriteCloser.Close()
}

// CloseWrite implements exchange.CloseWriter.
func (c *conn) CloseWrite() error {
	if half, can := c.ReadWriteCloser.(exchange.CloseWriter); can {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

func (*conn) LocalAddr() net.Addr              { return nowhere{} }
func (*conn) RemoteAddr() net.Addr             { return nowhere{} }
func (*conn) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (*conn) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (*conn) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

type nowhere struct{}

func (nowhere) Network() string { return "service" }
func (nowhere) String() string  { return "" }
