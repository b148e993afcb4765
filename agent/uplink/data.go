package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
)

// Times of a dial of a data connection.
const (
	// dataTime is how long all ways are tried. The parent waits a little longer.
	dataTime = 10 * time.Second
	// dataQUICTime is how long QUIC is tried on the session's socket before TCP is.
	dataQUICTime = 3 * time.Second
	// dataPause is how long nothing is tried after all ways have failed: another replica of the
	// parent may have answered than the one that asked.
	dataPause = 300 * time.Millisecond
)

// dataBudget is how many bytes the windows of a site's data connection may promise.
const dataBudget = 64 << 20

// reach keeps the data connection of a site: one at a time, the last that the parent has asked for.
// It costs nothing while there is none.
type reach struct {
	ctx   context.Context // of the uplink
	cfg   data.Config
	proxy func(hostPort string) bool
	dial  tcp.DialConfig // without TLS
	log   *slog.Logger
	up    *Upward // may be nil

	running sync.WaitGroup
	mu      sync.Mutex
	replace context.CancelCauseFunc // ends the last one; nil where there was none
}

// newReach returns nil where the site serves no streams.
func (u *uplink) newReach(ctx context.Context) *reach {
	if u.Streams == nil {
		return nil
	}
	cfg := data.Config{Budget: mux.NewBudget(dataBudget), Meter: u.Meter, Handler: u.Streams, Metrics: u.Data}
	dial := tcp.DialConfig{Dial: u.Proxy.DialContext}
	return &reach{ctx: ctx, cfg: cfg, proxy: u.Proxy.Uses, dial: dial, log: u.Log, up: u.Upward}
}

// dataFrom is what the parent may ask in a session; nil where the site serves no streams.
func (u *uplink) dataFrom(s *session) func(tunnel.Number, func(error)) {
	if u.reach == nil {
		return nil
	}
	credentials := u.credentials // those of the session
	return func(n tunnel.Number, failed func(error)) {
		u.reach.connect(dataDial{u.reach, s, credentials.TLS(), u.parents, n}, failed)
	}
}

// connect brings a data connection up in the place of the one before. It returns at once.
func (r *reach) connect(d dataDial, failed func(error)) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.mu.Lock()
	if r.replace != nil {
		r.replace(tunnel.ErrReplaced)
	}
	r.replace = cancel
	r.mu.Unlock()
	r.running.Go(func() {
		defer cancel(nil)
		conn, err := d.find(ctx)
		if err != nil {
			r.log.Info("the data connection that the parent asked for could not be opened", "err", err)
			failed(err)
			r.up.failed(err)
			return
		}
		r.log.Debug("data connection open", "transport", conn.Transport())
		r.up.stands(conn, d.number)
		err = data.Serve(ctx, conn, r.cfg)
		r.log.Debug("data connection ended", "err", err)
	})
}

// dataDial finds a way for the data connection that was asked for in a session.
type dataDial struct {
	*reach
	s       *session
	config  *tls.Config
	parents []parent
	number  tunnel.Number
}

// find tries QUIC on the session's socket, and then TCP by all ways, until the parent takes the
// connection.
func (d dataDial) find(ctx context.Context) (*mux.Conn, error) {
	late := fmt.Errorf("no way led there within %s", dataTime)
	ctx, cancel := context.WithTimeoutCause(ctx, dataTime, late)
	defer cancel()
	var errs []error
	if d.s.conn.Transport() == overQUIC {
		conn, err := d.overQUIC(ctx)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	for {
		conn, err := d.overTCP(ctx)
		if err == nil {
			return conn, nil
		}
		if !ondemand.Pause(ctx, dataPause) {
			return nil, errors.Join(append(errs, err, context.Cause(ctx))...)
		}
	}
}

// overQUIC dials over the session's socket.
func (d dataDial) overQUIC(ctx context.Context) (*mux.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dataQUICTime+4*d.s.conn.Stats().RTT)
	defer cancel()
	bare, err := quic.DialData(ctx, d.s.conn, d.config, d.cfg.Budget)
	if err != nil {
		return nil, err
	}
	return data.Dial(ctx, bare, d.number, d.cfg)
}

// overTCP tries all ways at once, each a little after the one before, and returns the first that
// the parent takes. The others end.
func (d dataDial) overTCP(ctx context.Context) (*mux.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addresses := d.addresses(ctx)
	type result struct {
		conn *mux.Conn
		err  error
	}
	results := make(chan result, len(addresses))
	for i, address := range addresses {
		go func() {
			if !ondemand.Pause(ctx, time.Duration(i)*headStart(0)) {
				results <- result{err: ctx.Err()}
				return
			}
			conn, err := d.dialTCP(ctx, address)
			results <- result{conn, err}
		}()
	}
	var won *mux.Conn
	var errs []error
	for range addresses {
		switch got := <-results; {
		case got.err != nil:
			errs = append(errs, got.err)
		case won != nil:
			_ = got.conn.Close(nil)
			<-got.conn.Received()
		default:
			won = got.conn
			cancel()
		}
	}
	if won == nil {
		return nil, errors.Join(errs...)
	}
	return won, nil
}

func (d dataDial) dialTCP(ctx context.Context, address string) (*mux.Conn, error) {
	dial := d.dial
	dial.TLS = d.config
	bare, err := tcp.DialData(ctx, address, dial)
	if err != nil {
		return nil, err
	}
	return data.Dial(ctx, bare, d.number, d.cfg)
}

// addresses are where the parent listens on TCP, the session's first.
func (d dataDial) addresses(ctx context.Context) []string {
	out := []string{d.s.way.Address}
	for _, p := range d.parents {
		found := []string{p.hostPort}
		if !d.proxy(p.hostPort) {
			found, _ = resolve(ctx, p) // without it the session's address is left
		}
		for _, a := range found {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}
