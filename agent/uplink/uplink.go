package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/traffic"
)

// ErrRefused is returned when the parent refused this site, or this site its parent, in a way that trying again does not
// mend: token, CA, clock. The error that it is joined with says which and what to do.
var ErrRefused = errors.New("joining was refused")

// Config is what an uplink works with.
type Config struct {
	// Dir holds the credentials.
	Dir string
	// Parent is https://HOST:PORT. Token is used once, when Dir holds no credentials yet.
	Parent, Token, Name string
	Labels              map[string]string
	// Dial opens a connection to HOST:PORT.
	Dial func(ctx context.Context, addr string, config *tls.Config) (tunnel.Conn, error)
	// Hello is called before each session.
	Hello func(ctx context.Context) tunnel.Hello
	// Desired and Reported are the two ends of the session. Reports flow once ReportedReady is closed.
	Desired       store.Sink
	Reported      *store.Feed
	ReportedReady <-chan struct{}
	// Clock judges the parent's certificate and learns from the parent. It is made anew when nil.
	Clock *enroll.Clock
	// OnAccept carries out what an admin has confirmed, see tunnel.ChildConfig.
	OnAccept func(tunnel.Accept) (again bool, err error)
	// Conditions are what the site says of itself.
	Conditions *tunnel.Conditions
	// Meter counts what crosses; it may be nil.
	Meter *traffic.Meter
	Log   *slog.Logger
}

// Times of an uplink.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 30 * time.Second
	dialLimit   = 10 * time.Second
	explainTime = 10 * time.Second
	joinLimit   = time.Minute
)

// Run keeps the session until ctx ends. Before the site has joined it returns ErrRefused for what a person has to mend.
func Run(ctx context.Context, cfg Config) error {
	parent, err := url.Parse(cfg.Parent)
	if err != nil || parent.Host == "" {
		return fmt.Errorf("%w: parent %q: write https://HOST:PORT", ErrRefused, cfg.Parent)
	}
	if cfg.Clock == nil {
		cfg.Clock = enroll.NewClock(enroll.ClockState{})
	}
	u := &uplink{Config: cfg, addr: parent.Host}
	if parent.Port() == "" {
		u.addr = net.JoinHostPort(parent.Hostname(), "7443")
	}
	if err := u.join(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	u.sessions(ctx)
	return nil
}

type uplink struct {
	Config
	addr        string
	credentials *enroll.Credentials
	joinAgain   bool   // there is a token that these credentials did not come from
	explained   string // the last reason of a failed dial that was logged
}

// sessions serves one session after the other.
func (u *uplink) sessions(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		u.rejoin(ctx)
		welcomed, err := u.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if welcomed {
			failures = 0
			u.Log.Info("session with the parent ended", "err", err)
		}
		failures++
		pause(ctx, waitAfter(err, failures))
	}
}

// session dials and serves one session. It tells whether the parent welcomed the site.
func (u *uplink) session(ctx context.Context) (welcomed bool, err error) {
	conn, err := u.dial(ctx)
	if err != nil {
		u.Meter.DialFailed()
		u.explain(u.reason(ctx, err))
		return false, err
	}
	welcome := make(chan tunnel.Welcome, 1)
	err = tunnel.ServeChild(ctx, conn, tunnel.ChildConfig{
		Hello: u.Hello(ctx), Desired: u.Desired, Reported: u.Reported, ReportedReady: u.ReportedReady,
		Renewal: u.credentials.Renewal(), Conditions: u.Conditions, OnAccept: u.OnAccept, Meter: u.Meter, Log: u.Log,
		OnWelcome: func(w tunnel.Welcome) {
			u.Log.Info("session with the parent", "parent", u.addr, "transport", conn.Transport(), "center", w.CenterVersion)
			welcome <- w
		},
	})
	select {
	case <-welcome:
		u.explained = ""
		return true, err
	default:
		if ctx.Err() == nil {
			u.explain(err)
		}
		return false, err
	}
}

func (u *uplink) dial(ctx context.Context) (tunnel.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := u.Dial(ctx, u.addr, u.credentials.TLS())
	if err != nil {
		return nil, fmt.Errorf("dial parent %s: %w", u.addr, err)
	}
	return conn, nil
}

// reason asks over another way why a dial failed: a wrong CA and a wrong clock are told apart from a network that is down.
func (u *uplink) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	return u.credentials.Explain(ctx, u.Parent, err)
}

// explain logs why there is no session, once for each reason.
func (u *uplink) explain(err error) {
	if text := err.Error(); text != u.explained {
		u.explained = text
		u.Log.Warn("no session with the parent, still trying; the site goes on as it is", "parent", u.Parent, "err", err)
	}
}
