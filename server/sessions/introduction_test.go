package sessions

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// comes begins a session of a target in place of the one that there was.
func comes(server *Server, target string) *session {
	old := server.session(target)
	s := &session{
		target:  target,
		conn:    old.conn,
		began:   time.Now(),
		written: time.Now(),
		use:     tunnel.NewLinkUse(tunnel.Link{}),
	}
	s.watches(old.feed)
	server.mu.Lock()
	server.sessions[target] = s
	server.mu.Unlock()
	server.targets.touch(target)
	return s
}

// A site that comes has its status written once, when it has said how it is and what it has; one
// that comes back as it was does not before its heartbeat.
func TestASiteThatComesIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		server, feed, stop := standingDoor(t, api, api, "paris")
		introduce := func(s *session) {
			time.Sleep(2 * glance)
			s.updateConditions(tunnel.ChildStatus{}, 0, server.cfg.Log)
			server.targets.touch("paris")
			time.Sleep(2 * glance)
			if s.acknowledged(feed.Head()) {
				server.targets.touch("paris")
			}
			time.Sleep(2 * glance)
		}
		writes := func() int { n, _ := api.count(); return n }
		introduce(comes(server, "paris"))
		if n := writes(); n != 1 || !says(api.status(t, "paris"), v1alpha1.ConditionSynced, "True") ||
			api.status(t, "paris").LastSeen == nil {
			t.Errorf("%d writes for a site that came; it says %+v", n, api.status(t, "paris"))
		}
		time.Sleep(10 * heartbeat) // so that what was said of the last contact is old
		before := writes()
		feed.Apply(9) // a restart of the center, say
		introduce(comes(server, "paris"))
		if n := writes(); n != before {
			t.Errorf("%d writes for a site that came back as it was", n-before)
		}
		time.Sleep(heartbeat)
		if n := writes(); n != before+1 || api.status(t, "paris").AppliedRevision != 9 {
			t.Errorf(
				"%d writes in its first minute, one is its heartbeat; it says %+v",
				n-before,
				api.status(t, "paris"),
			)
		}
		stop()
	})
}

// An agent that never says how it is does have a session.
func TestASilentAgentIsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		server, _, stop := standingDoor(t, api, api, "paris")
		comes(server, "paris")
		time.Sleep(introduction - glance)
		if n, _ := api.count(); n != 0 {
			t.Errorf("%d writes before the agent has said anything", n)
		}
		time.Sleep(2*glance + settle)
		if !says(api.status(t, "paris"), v1alpha1.ConditionConnected, "True") {
			t.Errorf("it says %+v", api.status(t, "paris"))
		}
		stop()
	})
}

// A site that holds never has what this center has, and is not waited for.
func TestASiteThatHoldsIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		server, _, stop := standingDoor(t, api, api, "paris")
		s := comes(server, "paris")
		s.updateConditions(
			tunnel.ChildStatus{
				Conditions: []tunnel.Condition{
					{Type: tunnel.CenterTrusted, Status: tunnel.False, Reason: tunnel.CenterRegressed},
				},
			},
			0,
			server.cfg.Log,
		)
		server.targets.touch("paris")
		time.Sleep(2*glance + settle)
		if !says(api.status(t, "paris"), v1alpha1.ConditionConnected, "True") || time.Since(s.began) >= introduction {
			t.Errorf("after %s it says %+v", time.Since(s.began), api.status(t, "paris"))
		}
		stop()
	})
}
