package uplink

import (
	"context"
	"crypto/subtle"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/quic"
)

// session is a session that runs.
type session struct {
	conn     tunnel.Conn
	way      Route
	began    time.Time
	welcomed chan struct{} // closed when the parent has let it in
	probe    chan struct{} // asks the parent for a sign of life; one slot
	done     chan struct{} // closed when nothing of it runs any more; err is why
	err      error
	end      context.CancelFunc
}

// start serves a session. A session that replaces another ends that once the parent has let it in.
func (u *uplink) start(ctx context.Context, conn tunnel.Conn, way Route, old *session) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		conn:     conn,
		way:      way,
		began:    time.Now(),
		welcomed: make(chan struct{}),
		probe:    make(chan struct{}, 1),
		done:     make(chan struct{}),
		end:      cancel,
	}
	hello := u.Hello(ctx)
	hello.Instance, hello.Dialled = u.instance, way.Parent
	cfg := tunnel.ChildConfig{
		Hello: hello, Desired: u.Desired, Reported: u.Reported, ReportedReady: u.ReportedReady,
		Renewal: u.renewal(), Conditions: u.Conditions, OnAccept: u.OnAccept, OnNarrow: u.OnNarrow, OnWish: u.OnWish,
		Lease:     u.Lease,
		OnConnect: u.dataFrom(s), OnTraced: u.OnTraced, Probe: s.probe, Meter: u.Meter, Log: u.Log,
		OnWelcome: func(w tunnel.Welcome) {
			u.Clock.Learn(w.Clock)
			u.setClockCondition()
			if w.RenewOnly {
				u.Log.Info("the certificate has expired; the parent lets this site renew it",
					"until", u.credentials.NotAfter())
				return
			}
			u.setCertificateCondition(nil)
			if u.Welcomed != nil {
				u.Welcomed(w)
			}
			u.secret.set(w.Wake)
			u.Upward.begun(s)
			u.noteSession(way, true, nil)
			u.Log.Info("session with the parent",
				"parent", way.Parent, "address", way.Address, "transport", conn.Transport(),
				"center", w.CenterVersion)
			close(s.welcomed)
		},
	}
	if u.reach != nil {
		cfg.Wanted = u.Upward.wants()
	}
	if old != nil {
		cfg.TakeOver = func() {
			old.end()
			<-old.done
		}
	}
	go func() {
		defer close(s.done)
		defer u.Upward.over(s)
		defer cancel()
		s.err = tunnel.ServeChild(ctx, conn, cfg)
	}()
	return s
}

// stop ends a session and waits for its end.
func (s *session) stop() {
	s.end()
	<-s.done
}

// forsake ends a session that the parent has not let in. Its hello may still be on its way, or wait
// there.
func (u *uplink) forsake(s *session) {
	s.stop()
	u.forsaken = time.Now()
	u.doubts++
}

func (s *session) letIn() bool {
	select {
	case <-s.welcomed:
		return true
	default:
		return false
	}
}

// errOutrun ends a session that was replaced by one that this site had given up before it.
var errOutrun = errors.New("the parent let in an older connection of this site after a newer one")

// over records the end of a session that nothing replaces.
func (u *uplink) over(ctx context.Context, s *session) error {
	if errors.Is(s.err, tunnel.ErrReplaced) && time.Since(u.forsaken) < tunnel.Idle {
		u.forsaken, s.err = time.Time{}, errOutrun
	}
	u.noteSession(s.way, false, s.err)
	if s.letIn() {
		u.failures, u.refusals, u.explained, u.heard = 0, 0, nil, time.Now()
		if ctx.Err() == nil {
			u.Log.Info("session with the parent ended", "err", s.err)
		}
	} else if ctx.Err() == nil && !errors.Is(s.err, tunnel.ErrRenewed) {
		u.explain(s.err)
	}
	return s.err
}

// noteSession tells whoever wants to know that a session was let in, or why it has ended.
func (u *uplink) noteSession(way Route, open bool, why error) {
	if u.OnSession != nil {
		u.OnSession(way, open, why)
	}
}

// secret is the content of the datagram by which a restarted parent wakes this site.
type secret struct {
	mu    sync.Mutex
	value []byte
}

func (s *secret) set(v []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = v
}

func (s *secret) is(v []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.value) > 0 && subtle.ConstantTimeCompare(s.value, v) == 1
}

// wake handles a datagram that may be the parent's wake-up.
func (u *uplink) wake(datagram []byte) {
	if !u.secret.is(quic.WakeOf(datagram)) {
		return
	}
	select {
	case u.woken <- struct{}{}:
	default:
	}
}

// Waits between two tries to come back from TCP to QUIC.
const (
	firstRetry   = 30 * time.Second
	longestRetry = 10 * time.Minute
)

// retry schedules tries of QUIC, less and less often. It begins anew when a session over QUIC has
// lasted.
type retry struct{ first, wait time.Duration }

func (r *retry) next() time.Duration {
	r.wait = min(longestRetry, max(r.first, 2*r.wait))
	return r.wait*3/4 + rand.N(r.wait/2)
}

func (r *retry) lasted(d time.Duration) {
	if d > r.wait {
		r.wait = 0
	}
}
