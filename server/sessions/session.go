package sessions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/traffic"
)

// errOtherKey refuses a renewal.
var errOtherKey = errors.New("a site keeps its key; the request is for another one, or for none")

// errSlowEnd refuses a session while the one before it is still storing reports.
var errSlowEnd = &tunnel.Refused{Reason: "Busy", Message: "the session before this one is still ending",
	RetryAfter: time.Second}

// session is one connected agent.
type session struct {
	target          string
	feed            *store.Feed
	conn            tunnel.Conn
	hello           tunnel.Hello
	began           time.Time
	cancel          context.CancelCauseFunc
	use             *tunnel.LinkUse
	ended           chan struct{} // closed when nothing of the session runs any more
	commands        *tunnel.Commands
	again           *delta.Recheck // of its reports
	meter           *traffic.Meter
	center          Center
	duplicateAgents // set before anybody else sees the session

	mu       sync.Mutex
	acked    store.Position
	checking int64                    // the revision since which its reports are compared, 0 when they are not
	said     *tunnel.ChildStatus      // all that the agent says of itself; nil until it has said anything
	held     *delta.Held              // what the agent would lose while it does not obey this center
	given    string                   // the acceptance that was sent
	holds    *tunnel.CredentialStatus // the credentials that the agent has; nil when it does not say
	offered  offer
	heard    time.Time // when it was noticed the last time that something had come
	due      int64     // what the agent should have acknowledged by now
	next     behind    // what is due next, and since when it was to be sent
	head     int64     // the feed's head at the last glance
	behind   behind    // what the agent had not acknowledged at a glance
	shown    siteState
	counted  tunnel.Stats // the bytes that usage has, and what they were for
	purposes [traffic.Transport + 1]int64
	// written is when the status was written, at first when the session began. It is of the
	// goroutine of runStatusWriter alone, as is looks: how many glances there were.
	written time.Time
	checks  uint
	// received is how many bytes had come then. It is of the goroutine of runStatusWriter, too.
	received uint64
	changed  atomic.Bool // something has happened to it, so that it is looked at in the next glance
	unwatch  func()      // ends the watch of feed
}

// watches has the session looked at whenever its feed changes, from now on.
func (s *session) watches(feed *store.Feed) {
	s.feed, s.unwatch = feed, feed.Watch(s.markChanged)
	s.markChanged()
}

// markChanged has the session looked at in the next glance.
func (s *session) markChanged() { s.changed.Store(true) }

// acknowledged notes what the agent has durably stored, and tells whether its status says that it
// lacks something.
func (s *session) acknowledged(p store.Position) (waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = p
	s.markChanged()
	return !s.shown.done
}

// siteState is how a session stands.
type siteState struct {
	acked   int64 // what the agent has durably stored
	done    bool  // that is everything
	late    bool  // it lacks something that it had time for
	spent   bool  // the budget of the link is used up
	objects int
	unkept  int // reports that there is no room for
	said    *tunnel.ChildStatus
	held    *delta.Held
	// progress is how far the target is, nil while it was not counted.
	progress *progress
}

// siteState is how a session stands with what is placed on its target, and what the target has
// reported.
func (srv *Server) siteState(s *session) siteState {
	is := s.state(srv.cfg.Delivery.Count(s.target))
	is.unkept = srv.cfg.Inboxes.Unkept(s.target)
	is.progress = srv.progress.get(s.target)
	return is
}

func (s *session) state(objects int) siteState {
	s.mu.Lock()
	acked, due := s.acked, s.due
	out := siteState{objects: objects, said: s.said, held: s.held, spent: s.use.Now().Hold}
	s.mu.Unlock()
	if acked.Incarnation != s.feed.Head().Incarnation { // it has acknowledged nothing yet
		out.late = due > 0
		return out
	}
	missing := s.feed.Since(acked.Revision, 1)
	out.acked, out.done, out.late = acked.Revision, len(missing) == 0, len(missing) > 0 && missing[0].Revision <= due
	return out
}

// urgent reports whether a status that says shown is to be written at once: it says something about
// the target that is not so. How far the target has got, and how many objects it has, changes at
// all targets with one object that is placed on all.
func (is siteState) urgent(shown siteState) bool {
	return is.late != shown.late || is.done && !shown.done || is.spent != shown.spent ||
		(is.unkept > 0) != (shown.unkept > 0) || is.said != shown.said || is.held != shown.held ||
		is.progress.refuses() != shown.progress.refuses()
}

// stale reports whether a status that says shown is to be written in its turn. What has been stored
// moves with each change of each object, and is told whenever a status is written, so with a sign of
// life at the latest: else one change of an object that is everywhere would write all statuses.
func (is siteState) stale(shown siteState) bool {
	is.acked, is.done = shown.acked, shown.done
	return is != shown
}

// recordShown notes what the status says.
func (s *session) recordShown(is siteState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = is
}

// lastShown returns what the status says.
func (s *session) lastShown() siteState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// introduction is how long a session may take to begin before its status says anything of it.
const introduction = 5 * time.Second

// introduces reports whether a session has only begun: its agent has not said yet how it is, or
// what it has. A moment later there is more to write, and of thousands that come at once each would
// be written several times.
func (s *session) introduces(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= introduction {
		return false
	}
	if s.said == nil {
		return true
	}
	// One that holds has nothing of this center, and says so.
	return s.acked.Incarnation != s.feed.Head().Incarnation && !distrusts(s.said, tunnel.CenterRegressed)
}

// lateAfter is how long a change may be on its way before the status says that the target is behind:
// a target that is there before that costs no write.
const lateAfter = 5 * time.Second

// checkDelivery notes at a glance that what was to be sent lateAfter ago should be there by now, and
// reports whether there is more than at the glance before.
func (s *session) checkDelivery(now time.Time) (more bool) {
	head := s.feed.Head()
	s.mu.Lock()
	defer s.mu.Unlock()
	more = head.Revision != s.head
	s.head = head.Revision
	there := s.acked.Incarnation == head.Incarnation && s.acked.Revision >= s.next.revision
	if now.Sub(s.next.since) >= lateAfter {
		s.due = s.next.revision
		s.next = behind{head.Revision, now}
	} else if there && head.Revision > s.next.revision {
		s.next = behind{head.Revision, now}
	}
	return more
}

// maxOrders is how many orders may wait for one agent.
const maxOrders = 8

// serve begins the session of a connection, and calls done when nothing of it runs any more.
func (srv *Server) serve(ctx context.Context, conn tunnel.Conn, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &session{target: conn.Peer().Target, conn: conn, began: time.Now(), heard: time.Now(), written: time.Now(),
		cancel: cancel, ended: make(chan struct{}), meter: srv.meter.Part(),
		commands: tunnel.NewCommands(maxOrders), use: tunnel.NewLinkUse(srv.link(conn.Peer().Target, time.Now()))}
	s.center = srv.cfg.Center
	if known, ok := srv.targets.get(s.target); ok {
		s.use.SetNarrow(narrowOf(known.object.Spec.Allow))
		s.use.SetWish(wishOf(&known.object.Spec))
	}
	s.again = &delta.Recheck{Done: func() { srv.barrierReached(s) }}
	log := srv.cfg.Log.With("target", s.target)
	end := parentEnd{srv, s, log}
	tunnel.StartParent(ctx, conn, tunnel.ParentConfig{
		Admitter: end, Listener: end, Recheck: s.again, Commands: s.commands, Lease: leaseOf{srv, s},
		Use: s.use, Shared: srv.shared, Tracer: srv.cfg.Trace.To(s.target), Meter: s.meter, Log: log,
	}, func(err error) {
		if s.unwatch != nil {
			s.unwatch()
		}
		srv.account(s, time.Now())
		if srv.leave(s, tunnel.LastHeard(time.Now(), err)) {
			log.Info("target disconnected", "after", time.Since(s.began).Round(time.Second), "err", err)
		}
		close(s.ended)
		cancel(nil)
		done()
	})
}

// admit decides about a hello. The newest session of a target wins; closing the older one does not
// touch the new one.
func (srv *Server) admit(ctx context.Context, s *session, id tunnel.Identity, hello tunnel.Hello) (tunnel.Admission,
	error) {
	if err := srv.member(id); err != nil {
		return tunnel.Admission{}, err
	}
	if err := srv.renaming(id); err != nil {
		return tunnel.Admission{}, err
	}
	if err := srv.admissions.admit(time.Now()); err != nil {
		return tunnel.Admission{}, err
	}
	s.hello, s.holds = hello, hello.Credentials
	feed := srv.cfg.Delivery.Feed(id.Target)
	if feed == nil {
		return tunnel.Admission{}, &tunnel.Refused{Reason: "NotReady", RetryAfter: time.Second,
			Message: "the center is starting; come back"}
	}
	if err := srv.loops(id.Target, hello); err != nil {
		return tunnel.Admission{}, srv.unwelcome(id.Target, err)
	}
	s.watches(feed)
	inbox, err := srv.cfg.Inboxes.Open(id.Target)
	if err != nil {
		return tunnel.Admission{}, fmt.Errorf("open the reports of target %s: %w", id.Target, err)
	}
	srv.mu.Lock()
	if err := srv.sameLocked(id.Target, hello); err != nil {
		srv.mu.Unlock()
		return tunnel.Admission{}, srv.unwelcome(id.Target, err)
	}
	if srv.renames.pausing[id.Target] {
		srv.mu.Unlock()
		return tunnel.Admission{}, srv.renaming(id)
	}
	delete(srv.unwanted, id.Target)
	old := srv.sessions[id.Target]
	turns := old != nil && s.replaces(old, time.Now())
	srv.sessions[id.Target] = s
	srv.mu.Unlock()
	if turns {
		srv.cfg.Log.Warn("two agents with one identity take turns: one is a copy of the other", "target", id.Target,
			"from", s.conn.RemoteAddr(), "other", s.from)
	}
	if old != nil {
		old.cancel(tunnel.ErrReplaced)
		if err := old.wait(ctx); err != nil { // two that store reports of one target would undo each other
			srv.leave(s, time.Now())
			return tunnel.Admission{}, err
		}
	}
	// Whoever removes the target from now on finds the session and ends it.
	if err := srv.member(id); err != nil {
		srv.leave(s, time.Now())
		return tunnel.Admission{}, err
	}
	srv.flaps.back(id.Target, time.Now())
	srv.offer(s)
	srv.links.Again(asking{s})
	srv.Recount(id.Target)
	srv.cfg.Log.Info("target connected", "target", id.Target, "agent", hello.AgentVersion, "kubernetes",
		hello.KubernetesVersion, "relay", hello.Relay)
	srv.targets.touch(id.Target)
	return tunnel.Admission{Feed: s.feed, Inbox: inbox, Welcome: tunnel.Welcome{Incarnation: srv.cfg.Incarnation,
		CenterVersion: srv.cfg.Version,
		Site:          srv.targets.uid(id.Target), Name: id.Target, Formerly: srv.targets.formerly(id.Target),
		Reports: store.ReportsShort, Above: srv.above(), Clock: time.Now(),
		Wake: srv.wake(ctx, s)}}, nil
}

// wake puts a session on the roll and returns what its agent is called with, when that is in the
// file: the center may be killed right after the welcome. A broken TCP connection is noticed
// without a call.
func (srv *Server) wake(ctx context.Context, s *session) []byte {
	if s.conn.Transport() != "quic" {
		srv.connected.record(s.target, nil)
		return nil
	}
	srv.connected.record(s.target, s.conn.RemoteAddr())
	srv.connected.wait(ctx)
	return wakeSecret(srv.cfg.ResetKey, s.target)
}

// wait returns when the session has ended, and gives up after a while.
func (s *session) wait(ctx context.Context) error {
	patience := time.NewTimer(endTime)
	defer patience.Stop()
	select {
	case <-s.ended:
		return nil
	case <-patience.C:
		return errSlowEnd
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endTime is how long a new session waits for the end of the one before it.
const endTime = 5 * time.Second

// leave forgets a session, unless a newer one has taken its place, and notes when the target was
// last heard of. It reports whether it was the current one.
func (srv *Server) leave(s *session, heard time.Time) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.sessions[s.target] != s {
		return false
	}
	delete(srv.sessions, s.target)
	srv.connected.record(s.target, nil)
	if _, ok := srv.targets.get(s.target); ok {
		srv.left[s.target] = heard
		srv.flaps.lost(s.target, time.Now())
	}
	srv.targets.touch(s.target)
	return true
}

func (srv *Server) session(target string) *session {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.sessions[target]
}
