package data

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/traffic"
)

// openTime is how long either side may take from the end of the handshake until the connection
// stands.
const openTime = 10 * time.Second

// Bare is a connection of the ALPN tunnel.DataALPN whose handshake is done and on which nothing was
// said.
type Bare interface {
	// Peer is the verified identity of the other side.
	Peer() tunnel.Identity
	// Transport is "quic", "tcp" or "pipe".
	Transport() string
	// Carry returns what is to carry the streams. It is called once.
	Carry(ctx context.Context) (mux.Carrier, error)
	// Close ends the connection and tells the other side why, where the transport can.
	Close(reason error) error
}

// Config is what one side brings into its data connections.
type Config struct {
	// Budget bounds the windows of all of them; nil does not.
	Budget *mux.Budget
	// Meter counts what crosses; it may be nil.
	Meter *traffic.Meter
	// Handler serves the streams that the other side opens. Nil cancels them.
	Handler tunnel.StreamHandler
	// Metrics counts connections; nil counts nothing.
	Metrics *Metrics
}

// Dial says the number on a connection that the child has dialled, and returns it when the parent
// has taken it. It closes the connection when it fails.
func Dial(ctx context.Context, bare Bare, n tunnel.Number, cfg Config) (*mux.Conn, error) {
	var conn *mux.Conn
	carrier, err := carry(ctx, bare, func(c mux.Carrier) error {
		if err := writeHead(c, n); err != nil {
			return fmt.Errorf("say the number of the data connection: %w", err)
		}
		return readTaken(c)
	})
	if err == nil {
		conn = cfg.conn(bare, carrier, true)
	}
	return conn, err
}

// carry has a carrier opened with what is said first, in openTime, and closes the connection where
// that fails.
func carry(ctx context.Context, bare Bare, first func(mux.Carrier) error) (mux.Carrier, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = bare.Close(nil) })
	carrier, err := bare.Carry(ctx)
	if err == nil {
		err = first(carrier)
	}
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		_ = bare.Close(err)
		return nil, err
	}
	return carrier, nil
}

func (cfg Config) conn(bare Bare, carrier mux.Carrier, child bool) *mux.Conn {
	return mux.New(carrier, mux.Options{Profile: mux.Data, Child: child, Peer: bare.Peer(),
		Transport: bare.Transport(), Budget: cfg.Budget, Meter: cfg.Meter})
}

// Serve serves the streams that the other side opens until the connection or ctx ends, closes it,
// and returns why it ended when nothing of it runs any more.
func Serve(ctx context.Context, conn *mux.Conn, cfg Config) error {
	cfg.Meter.OpenOther(conn)
	cfg.Metrics.opened(conn)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close(tunnel.ErrDraining) })
	var streams sync.WaitGroup
	for {
		s, err := conn.AcceptStream(ctx)
		if err != nil {
			break
		}
		if cfg.Handler == nil {
			s.Cancel()
			continue
		}
		streams.Go(func() {
			cfg.Handler.ServeStream(ctx, s)
			s.Cancel() // does nothing to what has ended
		})
	}
	<-conn.Done()
	cancel()
	streams.Wait()
	stop()
	<-conn.Received()
	cfg.Metrics.ended(conn)
	cfg.Meter.EndedOther(conn)
	return conn.Err()
}
