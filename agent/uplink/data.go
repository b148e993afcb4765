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
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tcp"
	"skerry.dev/skerry/tunnel/work"
)

// Times of a dial of a data connection.
const (
	// dataTime is how long all ways are tried. The parent waits a little longer.
	dataTime = 10 * time.Second
	// dataQUICTime is how long QUIC is tried on the session's socket before TCP is.
	dataQUICTime = 3 * time.Second
	// dataPause is how long nothing is tried after all ways have failed: another replica of the parent may
	// have answered than the one that asked.
	dataPause = 300 * time.Millisecond
)

// dataBudget is how many bytes the windows of a site's data connection may promise.
const dataBudget = 64 << 20

// reach keeps the data connection of a site: one at a time, the last that the parent has asked for. It costs
// nothing while there is none.
type reach struct {
	ctx   context.Context // of the uplink
	cfg   data.Config
	proxy func(hostPort string) bool
	dial  tcp.DialConfig // without TLS
	log   *slog.Logger

	running sync.WaitGroup
	mu      sync.Mutex
	replace context.CancelCauseFunc // ends the last one; nil where there was none
}

// newReach returns nil where the site serves no streams.
func (u *uplink) newReach(ctx context.Context) *reach {
	if u.Streams == nil {
		return nil
	}
	return &reach{ctx: ctx, proxy: u.Proxy.Uses, dial: tcp.DialConfig{Dial: u.Proxy.DialContext}, log: u.Log,
		cfg: data.Config{Budget: mux.NewBudget(dataBudget), Meter: u.Meter, Handler: u.Streams, Metrics: u.Data}}
}

// from is what the parent may ask in a session; nil where the site serves no streams.
func (r *reach) from(s *session, credentials *enroll.Credentials, parents []parent) func(tunnel.Number, func(error)) {
	if r == nil {
		return nil
	}
	return func(n tunnel.Number, failed func(error)) { r.connect(s, credentials.TLS(), parents, n, failed) }
}

// connect brings a data connection up in the place of the one before. It returns at once.
func (r *reach) connect(s *session, config *tls.Config, parents []parent, n tunnel.Number, failed func(error)) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	r.mu.Lock()
	if r.replace != nil {
		r.replace(tunnel.ErrReplaced)
	}
	r.replace = cancel
	r.mu.Unlock()
	r.running.Go(func() {
		defer cancel(nil)
		conn, err := r.find(ctx, s, config, parents, n)
		if err != nil {
			r.log.Info("the data connection that the parent asked for could not be opened", "err", err)
			failed(err)
			return
		}
		r.log.Debug("data connection open", "transport", conn.Transport())
		err = data.Serve(ctx, conn, r.cfg)
		r.log.Debug("data connection ended", "err", err)
	})
}

// find tries QUIC on the session's socket, and then TCP by all ways, until the parent takes the connection.
func (r *reach) find(ctx context.Context, s *session, config *tls.Config, parents []parent, n tunnel.Number) (*mux.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dataTime, fmt.Errorf("no way led there within %s", dataTime))
	defer cancel()
	var errs []error
	if s.conn.Transport() == overQUIC {
		conn, err := r.overQUIC(ctx, s, config, n)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	for {
		conn, err := r.overTCP(ctx, s, config, parents, n)
		if err == nil {
			return conn, nil
		}
		if !work.Pause(ctx, dataPause) {
			return nil, errors.Join(append(errs, err, context.Cause(ctx))...)
		}
	}
}

func (r *reach) overQUIC(ctx context.Context, s *session, config *tls.Config, n tunnel.Number) (*mux.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dataQUICTime+4*s.conn.Stats().RTT)
	defer cancel()
	bare, err := quic.DialData(ctx, s.conn, config, r.cfg.Budget)
	if err != nil {
		return nil, err
	}
	return data.Dial(ctx, bare, n, r.cfg)
}

// overTCP tries all ways at once, each a little after the one before, and returns the first that the parent
// takes. The others end.
func (r *reach) overTCP(ctx context.Context, s *session, config *tls.Config, parents []parent, n tunnel.Number) (*mux.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addresses := r.addresses(ctx, s, parents)
	type result struct {
		conn *mux.Conn
		err  error
	}
	results := make(chan result, len(addresses))
	for i, address := range addresses {
		go func() {
			if !work.Pause(ctx, time.Duration(i)*headStart(0)) {
				results <- result{err: ctx.Err()}
				return
			}
			conn, err := r.dialTCP(ctx, address, config, n)
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

func (r *reach) dialTCP(ctx context.Context, address string, config *tls.Config, n tunnel.Number) (*mux.Conn, error) {
	dial := r.dial
	dial.TLS = config
	bare, err := tcp.DialData(ctx, address, dial)
	if err != nil {
		return nil, err
	}
	return data.Dial(ctx, bare, n, r.cfg)
}

// addresses are where the parent listens on TCP, the session's first.
func (r *reach) addresses(ctx context.Context, s *session, parents []parent) []string {
	out := []string{s.way.Address}
	for _, p := range parents {
		found := []string{p.hostPort}
		if !r.proxy(p.hostPort) {
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
