package data

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// Expects reports whether a connection of an identity was asked for. A handshake ends without one.
func (l *Links) Expects(who tunnel.Identity) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[who.Target].expects(who, time.Now()) {
		return true
	}
	l.cfg.Metrics.refuse()
	return false
}

// ExpectsFrom reports whether a connection may come from somewhere. It tells nothing about who
// comes.
func (l *Links) ExpectsFrom(source netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sources[source] > 0
}

// Take serves a connection whose handshake is done, and returns at once. One that was not asked for
// is closed.
func (l *Links) Take(ctx context.Context, bare Bare) {
	l.mu.Lock()
	r := l.asked[bare.Peer().Target]
	if l.over || !r.expects(bare.Peer(), time.Now()) {
		l.mu.Unlock()
		l.cfg.Metrics.refuse()
		_ = bare.Close(tunnel.ErrUnasked)
		return
	}
	r.coming++
	l.serving.Add(1)
	l.mu.Unlock()
	go func() {
		defer l.serving.Done()
		l.serve(ctx, r, bare)
	}()
}

// serve reads the number of a connection, and serves the connection if it is the right one.
func (l *Links) serve(ctx context.Context, r *request, bare Bare) {
	claimed := false
	carrier, err := carry(ctx, bare, func(c mux.Carrier) error {
		n, err := readHead(c)
		if err != nil {
			return err
		}
		if claimed = l.claim(r, n); !claimed {
			l.cfg.Metrics.refuse()
			return tunnel.ErrUnasked
		}
		_, err = c.Write([]byte{taken})
		return err
	})
	l.mu.Lock()
	r.coming--
	l.mu.Unlock()
	switch {
	case claimed && err != nil:
		l.fail(r, fmt.Errorf("its data connection broke at once: %w", err))
		return
	case err != nil:
		return
	}
	cfg := l.cfg.Config
	cfg.Meter = cfg.Meter.Part()
	if l.cfg.Serve != nil {
		cfg.Handler = l.cfg.Serve(bare.Peer())
	}
	link := &Link{who: bare.Peer(), conn: cfg.conn(bare, carrier, false), meter: cfg.Meter}
	l.stands(r, link)
	_ = Serve(ctx, link.conn, cfg)
	l.gone(link)
}

// claim uses a number up. It reports whether that is the one that the request waits for.
func (l *Links) claim(r *request, n tunnel.Number) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.used || l.asked[r.who.Target] != r || !r.is(n) {
		return false
	}
	r.used = true
	return true
}

// stands gives a connection to who waits for it. One whose request was given up meanwhile is
// closed.
func (l *Links) stands(r *request, link *Link) {
	l.mu.Lock()
	current := l.asked[r.who.Target] == r && !l.over
	if current {
		l.links[r.who.Target] = link
		r.conn, link.instance, link.number = link.conn, r.instance, r.number
		l.forgetLocked(r)
	}
	l.mu.Unlock()
	if !current {
		_ = link.conn.Close(tunnel.ErrUnasked)
	}
}
