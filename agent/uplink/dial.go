package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
)

// Times of a dial. A route without an answer is given up after the first, so that a fresh packet
// finds a link that is back. Each try without an answer gives the next one longer, up to the
// second, so that a slow path has its chance.
const (
	shortHandshake = 1500 * time.Millisecond
	longHandshake  = 6 * time.Second
)

// patience returns how long a peer may be silent in a handshake, after this many dials without an
// answer.
func patience(failures int) time.Duration {
	return min(longHandshake, shortHandshake<<min(max(failures, 0), 4))
}

// dialer opens connections to the parent.
type dialer struct {
	tls   func() *tls.Config
	proxy *proxy.Dialer
	wake  func(datagram []byte)
	beat  func(took time.Duration)
	on    func(Route)
	log   *slog.Logger
}

// dial implements Dial with a handshake's patience.
func (d *dialer) dial(patience time.Duration) Dial {
	return func(ctx context.Context, w Route, answers *dialActivity) (tunnel.Conn, error) {
		if d.on != nil {
			d.on(w)
		}
		if w.Transport == overQUIC {
			return quic.Dial(
				ctx,
				w.Address,
				quic.DialConfig{TLS: d.tls(), Patience: patience, OnAnswer: answers.record,
					OnWake: d.wake, OnHeartbeat: d.beat, Log: d.log},
			)
		}
		ctx, cancel := context.WithTimeoutCause(
			ctx,
			2*patience,
			fmt.Errorf("nobody answered within %s: %w", 2*patience, context.DeadlineExceeded),
		)
		defer cancel()
		return tcp.Dial(ctx, w.Address, tcp.DialConfig{TLS: d.tls(), Dial: d.proxy.DialContext,
			OnHeartbeat: d.beat})
	}
}

// routes returns the routes to the parent, in the order in which they are to be tried, and the
// network that they lead through. A parent behind a proxy has one route, because the proxy speaks
// TCP and looks names up itself.
func (u *uplink) routes(ctx context.Context) (routes []Route, network string, err error) {
	var errs []error
	for _, p := range u.parents {
		if u.Proxy.Uses(p.hostPort) {
			routes = append(routes, Route{p.hostPort, p.hostPort, overTCP})
			continue
		}
		addresses, err := resolve(ctx, p)
		if err != nil {
			errs = append(errs, err)
			addresses = u.goodRoutes.addresses(p.hostPort)
		}
		for _, a := range addresses {
			routes = append(routes, Route{p.hostPort, a, overQUIC}, Route{p.hostPort, a, overTCP})
		}
	}
	if len(routes) == 0 {
		return nil, "", errors.Join(errs...)
	}
	if i := slices.IndexFunc(routes, func(w Route) bool { return w.Transport == overQUIC }); i >= 0 {
		network = networkOf(routes[i].Address)
	} else {
		network = networkOf(net.JoinHostPort("192.0.2.1", defaultPort)) // what leads to anywhere
	}
	return routes, network, nil
}
