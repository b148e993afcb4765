package uplink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// upwardTime is how long OpenStream waits for a data connection: a little longer than all ways are
// tried.
const upwardTime = dataTime + 2*time.Second

// ErrCutOff is returned while a site has no session with its parent.
var ErrCutOff = errors.New("the site has no connection with its parent now")

// Upward opens streams to the parent over the data connection, and has it brought up where there is
// none. Its methods may be called concurrently. Those of a nil Upward do nothing.
type Upward struct {
	want chan tunnel.Wanted // one slot

	mu      sync.Mutex
	session *session // that the parent has let in
	conn    *mux.Conn
	number  tunnel.Number // of conn
	failure error         // of the last try to bring one up
	changed chan struct{} // closed and replaced when something of the above changes
}

// NewUpward returns one that opens nothing before it is given to Run.
func NewUpward() *Upward {
	return &Upward{want: make(chan tunnel.Wanted, 1), changed: make(chan struct{})}
}

// OpenStream opens a stream. It fails with ErrCutOff at once where the site has no session, with
// mux.ErrTooManyStreams where there is no room, and with what kept the connection from coming.
func (u *Upward) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	late := fmt.Errorf("the data connection did not come within %s", upwardTime)
	ctx, cancel := context.WithTimeoutCause(ctx, upwardTime, late)
	defer cancel()
	for {
		conn, changed, err := u.now()
		if err != nil {
			return nil, err
		}
		if conn != nil {
			s, err := conn.OpenStream(ctx)
			if err == nil || conn.Err() == nil {
				return s, err
			}
			continue // it has ended just now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := u.lastFailure(); err != nil {
			return nil, err
		}
	}
}

// now returns the connection that stands, or asks for one and returns what is closed when there is
// news of it.
func (u *Upward) now() (*mux.Conn, <-chan struct{}, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil && u.conn.Err() == nil {
		return u.conn, nil, nil
	}
	if u.session == nil {
		return nil, nil, ErrCutOff
	}
	u.failure = nil
	select {
	case u.want <- tunnel.Wanted{Ended: u.number}:
	default: // it is about to be asked for
	}
	return nil, u.changed, nil
}

// lastFailure is why the last try has failed, nil when none has since it was asked for.
func (u *Upward) lastFailure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

// changeLocked wakes everybody who waits.
func (u *Upward) changeLocked() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// wants is what a session asks the parent for a data connection by.
func (u *Upward) wants() <-chan tunnel.Wanted {
	if u == nil {
		return nil
	}
	return u.want
}

// begun notes that the parent has let a session in.
func (u *Upward) begun(s *session) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.session = s
	u.changeLocked()
}

// over notes that a session has ended.
func (u *Upward) over(s *session) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.session == s {
		u.session = nil
		u.changeLocked()
	}
}

// stands notes a data connection.
func (u *Upward) stands(conn *mux.Conn, n tunnel.Number) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.conn, u.number = conn, n
	u.changeLocked()
}

// failed notes that a data connection could not be brought up.
func (u *Upward) failed(err error) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failure = fmt.Errorf("the data connection could not be opened: %w", err)
	u.changeLocked()
}
