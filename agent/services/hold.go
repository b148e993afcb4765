package services

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
)

// What answers for a Service may be on its way to another target and run nowhere meanwhile: its volume goes along, or
// it is to stop before it starts again. Its callers wait for it. One of them asks for all, so that many cost no more
// than one.

const (
	// holdTime is how long a caller waits.
	holdTime = 30 * time.Second
	// holdEvery is how often it is asked whether something answers now.
	holdEvery = 250 * time.Millisecond
	// mostHeld is how many callers wait at a time, mostHeldOfSpace how many who call one space's Services. They need
	// no seats meanwhile.
	mostHeld        = 1024
	mostHeldOfSpace = 512
)

// hold has a caller without a seat wait until something answers at its door, or ctx ends. The connection has a seat
// until it is closed. refused is why nobody answered before.
func (s *Services) hold(ctx context.Context, e wish, refused error) (io.ReadWriteCloser, error) {
	leave := s.held.Take(e.of.key.Space)
	if leave == nil {
		return nil, refused
	}
	defer leave()
	defer s.Metrics.waits()()
	for {
		end, asked := e.door.held.Turn()
		if end != nil {
			conn, err := s.askForAll(ctx, e)
			end()
			return conn, err
		}
		select {
		case <-asked:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if conn, err := s.seated(ctx, e); answers(err) {
			return conn, err
		}
	}
}

// answers reports whether there is something to answer: it has, or its policies keep this caller out.
func answers(err error) bool { return err == nil || exchange.IsDenied(err) }

// askForAll asks until something answers, or ctx ends. What else is said meanwhile may be that the center starts anew.
func (s *Services) askForAll(ctx context.Context, e wish) (io.ReadWriteCloser, error) {
	for ondemand.Pause(ctx, holdEvery) {
		if conn, err := s.seated(ctx, e); answers(err) {
			return conn, err
		}
	}
	return nil, context.Cause(ctx)
}

// errNoSeat is why a caller that has waited is not served yet.
var errNoSeat = errors.New("too many connections of this site lead to Services elsewhere")

// seated connects within the time that a caller without a hold has, and takes a seat for that.
func (s *Services) seated(ctx context.Context, e wish) (io.ReadWriteCloser, error) {
	give := s.seats.Take(e.of.key.Space)
	if give == nil {
		return nil, errNoSeat
	}
	ctx, cancel := context.WithCancel(ctx)
	end := sync.OnceFunc(func() { cancel(); give() }) // who closes a connection may do so twice
	late := time.AfterFunc(callTime, cancel)
	conn, err := s.connect(ctx, e)
	if err == nil && !late.Stop() {
		conn.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		end()
		return nil, err
	}
	return exchange.OnClose(conn, end).(io.ReadWriteCloser), nil
}
