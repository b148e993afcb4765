package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// errNoMember refuses a renewal.
var errNoMember = errors.New("the target was removed, or has joined with another key since")

// session is one connected agent.
type session struct {
	target string
	feed   *store.Feed
	conn   tunnel.Conn
	hello  tunnel.Hello
	began  time.Time
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	acked  store.Position
	health tunnel.Health
}

// serve runs one connection to its end.
func (d *Door) serve(ctx context.Context, conn tunnel.Conn) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{target: conn.Peer().Target, conn: conn, began: time.Now(), cancel: cancel}
	log := d.cfg.Log.With("target", s.target)
	err := tunnel.ServeParent(ctx, conn, tunnel.ParentConfig{
		Admit: func(ctx context.Context, id tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
			return d.admit(s, id, hello)
		},
		OnAck: func(p store.Position) {
			s.mu.Lock()
			s.acked = p
			s.mu.Unlock()
			d.targets.touch(s.target)
		},
		OnHealth: func(h tunnel.Health) {
			s.mu.Lock()
			s.health = h
			s.mu.Unlock()
			if h.Reason != "" {
				log.Warn("the target reports a problem", "reason", h.Reason, "message", h.Message)
			}
			d.targets.touch(s.target)
		},
		Sign: func(_ context.Context, id tunnel.Identity, csr []byte) (chainPEM, bundlePEM []byte, err error) {
			if known, ok := d.targets.get(id.Target); !ok || known.key != id.Key {
				return nil, nil, errNoMember
			}
			chainPEM, err = d.cfg.Sign(csr, id.Target)
			log.Info("the target renewed its certificate", "err", err)
			return chainPEM, d.cfg.Bundle, err
		},
		Log: log,
	})
	if d.leave(s) {
		log.Info("target disconnected", "after", time.Since(s.began).Round(time.Second), "err", err)
	}
}

// admit decides about a hello. The newest session of a target wins; closing the older one does not touch the new one.
func (d *Door) admit(s *session, id tunnel.Identity, hello tunnel.Hello) (tunnel.Admission, error) {
	known, ok := d.targets.get(id.Target)
	if !ok {
		return tunnel.Admission{}, &tunnel.Refused{Reason: "TargetUnknown", RetryAfter: time.Minute,
			Message: fmt.Sprintf("this center has no SyncTarget %q: it was removed; join again with a new token", id.Target)}
	}
	if known.key != id.Key {
		return tunnel.Admission{}, &tunnel.Refused{Reason: "KeyReplaced", RetryAfter: time.Minute,
			Message: fmt.Sprintf("SyncTarget %q has joined with another key since; join again with a new token", id.Target)}
	}
	s.feed = d.cfg.Feed(id.Target)
	if s.feed == nil {
		return tunnel.Admission{}, &tunnel.Refused{Reason: "NotReady", RetryAfter: time.Second, Message: "the center is starting; come back"}
	}
	inbox, err := d.cfg.Inbox(id.Target)
	if err != nil {
		return tunnel.Admission{}, err
	}
	s.hello = hello
	d.mu.Lock()
	old := d.sessions[id.Target]
	d.sessions[id.Target] = s
	d.mu.Unlock()
	if old != nil {
		old.cancel(tunnel.ErrReplaced)
	}
	d.cfg.Log.Info("target connected", "target", id.Target, "agent", hello.AgentVersion, "kubernetes", hello.KubernetesVersion, "relay", hello.Relay)
	d.targets.touch(id.Target)
	return tunnel.Admission{Feed: s.feed, Inbox: inbox, Welcome: tunnel.Welcome{Incarnation: d.cfg.Incarnation, CenterVersion: d.cfg.Version,
		Clock: time.Now()}}, nil
}

// leave forgets a session, unless a newer one has taken its place. It tells whether it was the current one.
func (d *Door) leave(s *session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions[s.target] != s {
		return false
	}
	delete(d.sessions, s.target)
	d.left[s.target] = true
	d.targets.touch(s.target)
	return true
}

func (d *Door) session(target string) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[target]
}
