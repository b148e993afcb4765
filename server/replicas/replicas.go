package replicas

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/mux"
)

const (
	// maxStreams is how many requests a replica passes on at a time, and how many it takes.
	maxStreams = 500
	// dialTime is how long the leader may take until the handshake is done.
	dialTime = 5 * time.Second
	// retryAfter is when a client may ask again, in seconds: another replica leads by then.
	retryAfter = 10
)

// Do sends a request to a target and returns the answer, whose body must be closed.
type Do func(ctx context.Context, target string, r *exchange.Request) (*http.Response, error)

// Config is what Replicas work with. All of it is required.
type Config struct {
	// Listener accepts other replicas: *tls.Conn whose handshake is done. Run closes it.
	Listener net.Listener
	// TLS is the configuration with which another replica is dialled.
	TLS func() *tls.Config
	// Leader is HOST:PORT of the replica that leads, empty while none but this one is known.
	Leader func() string
	// Here carries out what another replica has passed on, and fails where this one does not lead.
	Here Do
	Log  *slog.Logger
}

// Replicas passes requests to the leader, and takes those of others. Its methods may be called
// concurrently.
type Replicas struct {
	cfg           Config
	budget        *mux.Budget
	passed, taken atomic.Int64
}

// New returns Replicas. Run takes what others pass on.
func New(c Config) *Replicas { return &Replicas{cfg: c, budget: mux.NewBudget(memory)} }

// Do has the leader carry out a request. Its errors are faults of the exchange, or about the
// request.
func (r *Replicas) Do(
	ctx context.Context,
	target string,
	q *exchange.Request,
) (*http.Response, error) {
	leader := r.cfg.Leader()
	if leader == "" {
		return nil, away(
			"no replica of this center is known to lead now; nothing was done, try again",
		)
	}
	if r.passed.Add(1) > maxStreams {
		r.passed.Add(-1)
		return nil, tooMany()
	}
	stream, err := r.open(ctx, leader)
	if err != nil {
		return nil, away(
			"this replica of the center stands by, and the leader, %s, cannot be reached "+
				"from it: %v; nothing was done, try again, or ask the leader itself",
			leader,
			err,
		)
	}
	sent := *q
	sent.Path = append([]string{target}, q.Path...)
	resp, err := exchange.RoundTrip(ctx, stream, &sent)
	switch {
	case err == nil:
	case errors.Is(err, exchange.ErrRequest), ctx.Err() != nil:
		return nil, err
	default:
		return nil, away(
			"the leader of this center, %s, gave no answer: %v; "+
				"whether site %s was asked is not known, try again",
			leader,
			err,
			target,
		)
	}
	if resp.Header.Get(exchange.HeaderSite) == "" {
		resp.Header.Set(exchange.HeaderSite, target) // the leader's own answer is about this one
	}
	return resp, nil
}

// open opens the stream of a connection to a replica. The request is counted until that has ended.
func (r *Replicas) open(ctx context.Context, address string) (tunnel.Stream, error) {
	conn, err := r.dial(ctx, address)
	if err != nil {
		r.passed.Add(-1)
		return nil, err
	}
	m := r.conn(conn, true)
	go func() {
		<-m.Received()
		r.passed.Add(-1)
	}()
	stream, err := m.OpenStream(ctx)
	if err != nil {
		_ = m.Close(nil)
	}
	return stream, err
}

// dial connects to a replica.
func (r *Replicas) dial(ctx context.Context, address string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	dialer := tls.Dialer{Config: r.cfg.TLS()}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}

// Run takes requests of other replicas until ctx ends, and returns when the last one is over.
func (r *Replicas) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { r.cfg.Listener.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := r.cfg.Listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed): // the port has ended, and says why
			return nil
		case err != nil:
			return fmt.Errorf("accept a replica: %w", err)
		}
		n := r.taken.Add(1)
		if n > 2*maxStreams { // too many to tell them why
			r.taken.Add(-1)
			conn.Close()
			continue
		}
		open.Go(func() {
			defer r.taken.Add(-1)
			r.take(ctx, conn.(*tls.Conn), n <= maxStreams)
		})
	}
}

// take has the request of a connection carried out, and returns when the connection has ended.
func (r *Replicas) take(ctx context.Context, conn *tls.Conn, room bool) {
	m := r.conn(conn, false)
	defer func() {
		_ = m.Close(nil)
		<-m.Received()
	}()
	s, err := m.AcceptStream(ctx)
	if err != nil {
		return
	}
	err = exchange.Serve(
		ctx,
		s,
		func(ctx context.Context, q *exchange.Request) (*http.Response, error) {
			switch {
			case !room:
				return nil, tooMany()
			case len(q.Path) == 0:
				return nil, fmt.Errorf("%w: it names no target", exchange.ErrRequest)
			}
			next := *q
			next.Path = slices.Clone(q.Path[1:])
			r.cfg.Log.Debug(
				"another replica passes a request on",
				"from",
				conn.RemoteAddr(),
				"target",
				q.Path[0],
				"verb",
				q.Verb,
			)
			return r.cfg.Here(ctx, q.Path[0], &next)
		},
	)
	if err != nil {
		r.cfg.Log.Debug(
			"a request of another replica broke off",
			"from",
			conn.RemoteAddr(),
			"err",
			err,
		)
	}
}

func away(format string, args ...any) *exchange.Fault {
	return &exchange.Fault{
		Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: retryAfter,
		Message: fmt.Sprintf(format, args...),
	}
}

func tooMany() *exchange.Fault {
	return &exchange.Fault{
		Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
		Message: fmt.Sprintf(
			"more than %d streams from replicas that stand by to the leader; "+
				"end some, or ask the leader itself",
			maxStreams,
		),
	}
}
