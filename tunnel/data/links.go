package data

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// Errors of a request that is not fulfilled.
var (
	// ErrLate is returned when a child does not bring its data connection up in time.
	ErrLate = fmt.Errorf("its agent did not open a data connection within %s", askTime)
	// ErrBusy is returned when the child's session takes no request now.
	ErrBusy = errors.New("its agent is too busy to be asked for a data connection; try again")
)

// Session is the session of a child that is asked for a data connection.
type Session interface {
	// Peer is the child's proven identity, Source where it comes from.
	Peer() tunnel.Identity
	Source() netip.Prefix
	// Instance is another for each run of the child; it may be empty.
	Instance() string
	// Ask puts a request on the control stream. It reports whether there was room.
	Ask(tunnel.Connect) bool
}

// LinksConfig is what a parent brings into its data connections.
type LinksConfig struct {
	Config
	// Serve returns who serves the streams that a child opens. A nil Serve, and a nil handler,
	// cancel them.
	Serve func(who tunnel.Identity) tunnel.StreamHandler
	// OnEnd is called when a connection has ended and nothing of it runs any more. It may be nil.
	OnEnd func(*Link)
}

// Links are the data connections of a parent, one for each child that is reached into. Its methods
// may be called concurrently.
type Links struct {
	cfg     LinksConfig
	serving sync.WaitGroup

	mu      sync.Mutex
	over    bool
	asked   map[string]*request  // by target
	sources map[netip.Prefix]int // of those requests
	links   map[string]*Link     // by target
}

// NewLinks returns the connections of a parent that has none yet.
func NewLinks(cfg LinksConfig) *Links {
	return &Links{cfg: cfg, asked: map[string]*request{}, sources: map[netip.Prefix]int{},
		links: map[string]*Link{}}
}

// Open opens a stream to a target. It asks session for a data connection when there is none;
// session is nil where the target has none. It fails with mux.ErrTooManyStreams where there is no
// room, and else with what kept the connection from coming.
func (l *Links) Open(ctx context.Context, target string, session Session) (tunnel.Stream, error) {
	for {
		conn, err := l.conn(ctx, target, session)
		if err != nil {
			return nil, err
		}
		s, err := conn.OpenStream(ctx)
		if err == nil || conn.Err() == nil {
			return s, err
		}
		// It has ended just now.
	}
}

// conn returns the connection to a target, and brings it up.
func (l *Links) conn(ctx context.Context, target string, session Session) (*mux.Conn, error) {
	l.mu.Lock()
	if link := l.links[target]; link != nil && link.conn.Err() == nil {
		l.mu.Unlock()
		return link.conn, nil
	}
	r, ask := l.asked[target], false
	if r == nil {
		if session == nil || l.over {
			l.mu.Unlock()
			return nil, ErrNoSession
		}
		r, ask = l.requestLocked(session), true
	}
	l.mu.Unlock()
	if ask && !session.Ask(tunnel.Connect{Number: r.number}) {
		l.fail(r, ErrBusy)
	}
	select {
	case <-r.done:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ErrNoSession is returned when a target has neither a session nor a data connection.
var ErrNoSession = errors.New("its agent is not connected")

// requestLocked notes a request that a session is about to get.
func (l *Links) requestLocked(session Session) *request {
	r := &request{who: session.Peer(), from: session.Source(), instance: session.Instance(),
		number: tunnel.NewNumber(), done: make(chan struct{})}
	r.late = time.AfterFunc(askTime, func() { l.fail(r, ErrLate) })
	l.asked[r.who.Target] = r
	l.sources[r.from]++
	return r
}

// Again asks a new session for what the one before may not have got. A connection of another run of
// the child is closed: that run has ended, and silence would tell it only later.
func (l *Links) Again(session Session) {
	target := session.Peer().Target
	l.mu.Lock()
	r, link := l.asked[target], l.links[target]
	again := r != nil && !r.used && sameHolder(r.who, session.Peer())
	if again {
		r.instance = session.Instance()
	}
	if link != nil && link.instance != session.Instance() {
		l.closeLocked(link, tunnel.ErrReplaced)
	}
	l.mu.Unlock()
	if again {
		session.Ask(tunnel.Connect{Number: r.number}) // without room the request times out
	}
}

// NotConnected takes a child's word that it does not fulfil a request.
func (l *Links) NotConnected(who tunnel.Identity, n tunnel.NotConnected) {
	l.mu.Lock()
	r := l.asked[who.Target]
	mine := r != nil && !r.used && sameHolder(r.who, who) && r.is(n.Number)
	l.mu.Unlock()
	if mine {
		l.fail(r, fmt.Errorf("its agent could not open a data connection: %s", n.Why))
	}
}

// fail ends a request without a connection.
func (l *Links) fail(r *request, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[r.who.Target] == r {
		l.cfg.Metrics.fail()
		r.err = why
		l.forgetLocked(r)
	}
}

// forgetLocked ends a request, whose conn or err is set.
func (l *Links) forgetLocked(r *request) {
	r.late.Stop()
	delete(l.asked, r.who.Target)
	if l.sources[r.from]--; l.sources[r.from] == 0 {
		delete(l.sources, r.from)
	}
	close(r.done)
}

// gone forgets a connection that has ended.
func (l *Links) gone(link *Link) {
	l.mu.Lock()
	if l.links[link.who.Target] == link {
		delete(l.links, link.who.Target)
	}
	l.mu.Unlock()
	if l.cfg.OnEnd != nil {
		l.cfg.OnEnd(link)
	}
}

// All returns the connections that stand.
func (l *Links) All() []*Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.links))
}

// End ends the connection to a target, and what was asked for, unless keep says that its holder
// stays. It does not wait for the other side.
func (l *Links) End(target string, why error, keep func(tunnel.Identity) bool) {
	l.mu.Lock()
	r, link := l.asked[target], l.links[target]
	l.mu.Unlock()
	if r != nil && !keep(r.who) {
		l.fail(r, why)
	}
	if link == nil || keep(link.who) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeLocked(link, why)
}

// closeLocked ends a connection, which no stream is opened on any more. It does not wait.
func (l *Links) closeLocked(link *Link, why error) {
	if l.links[link.who.Target] != link || l.over { // it has gone, or Close ends it
		return
	}
	delete(l.links, link.who.Target)
	l.serving.Go(func() { _ = link.conn.Close(why) })
}

// Close ends all connections, because the parent stops, and returns when nothing of them runs any
// more.
func (l *Links) Close() {
	l.mu.Lock()
	l.over = true
	for _, r := range l.asked {
		r.err = tunnel.ErrDraining
		l.forgetLocked(r)
	}
	links := slices.Collect(maps.Values(l.links))
	l.mu.Unlock()
	for _, link := range links {
		_ = link.conn.Close(tunnel.ErrDraining)
	}
	l.serving.Wait()
}
