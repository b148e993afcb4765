package sessions

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel"
)

// fadingConn is a standingConn over which nothing comes from a moment on.
type fadingConn struct {
	standingConn
	mu    sync.Mutex
	quiet bool
	last  uint64
}

// Stats implements tunnel.Conn.
func (c *fadingConn) Stats() tunnel.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.standingConn.Stats()
	if !c.quiet {
		c.last = is.ReceivedBytes
	}
	is.ReceivedBytes = c.last
	return is
}

func (c *fadingConn) fades(quiet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = quiet
}

// An agent that is not heard is told within 10 s, long before its session ends, and so is that it
// is heard again.
func TestSilenceIsSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		server, feed, stop := standingDoor(t, api, api, "paris", "rome")
		defer stop()
		conn := &fadingConn{standingConn: standingConn{target: "paris"}}
		s := &session{
			target: "paris",
			conn:   conn,
			heard:  time.Now(),
			acked:  feed.Head(),
			use:    tunnel.NewLinkUse(tunnel.Link{}),
		}
		s.watches(feed)
		server.mu.Lock()
		server.sessions["paris"] = s
		server.mu.Unlock()
		time.Sleep(welcomeBack + time.Minute)
		conn.fades(true)
		cut := time.Now()
		time.Sleep(10 * time.Second)
		o, out := server.cfg.Outages.Outage("paris")
		if !out || o.Reason != placement.OutageSilent || o.Since.Before(cut.Add(-2*time.Second)) ||
			o.Since.After(cut.Add(time.Second)) {
			t.Errorf("10 s after %s: %+v, %t", cut, o, out)
		}
		is := api.status(t, "paris")
		if !says(is, v1alpha1.ConditionConnected, "True/Silent") || is.LastSeen == nil ||
			!is.LastSeen.Time.Equal(o.Since) {
			t.Errorf("status %+v", is)
		}
		writes, _ := api.count()
		time.Sleep(30 * time.Second)
		if now, _ := api.count(); now-writes > 2 { // rome's heartbeat
			t.Errorf("%d writes while nothing changed", now-writes)
		}
		conn.fades(false)
		time.Sleep(3*glance + settle)
		if _, out := server.cfg.Outages.Outage("paris"); out ||
			!says(api.status(t, "paris"), v1alpha1.ConditionConnected, "True/SessionOpen") {
			t.Errorf("heard again, and the status is %+v", api.status(t, "paris"))
		}
		if _, out := server.cfg.Outages.Outage("rome"); out {
			t.Error("a neighbour is said to be silent")
		}
	})
}

// What an agent says of its cluster, and what a relay says of its sites, are outages, too.
func TestOutagesThatAreTold(t *testing.T) {
	reachable := func(status string) *tunnel.ChildStatus {
		return &tunnel.ChildStatus{
			Conditions: []tunnel.Condition{
				{Type: tunnel.TargetReachable, Status: status, Reason: "Forbidden", Message: "403"},
			},
		}
	}
	below := func(targets, connected int, away ...tunnel.SiteAway) *tunnel.ChildStatus {
		return &tunnel.ChildStatus{
			Subtree: &tunnel.SubtreeStatus{
				Reach: &tunnel.SubtreeReach{Targets: targets, Connected: connected, Away: away},
			},
		}
	}
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, c := range map[string]struct {
		said  *tunnel.ChildStatus
		want  string
		since time.Time
	}{
		"cluster":         {reachable(tunnel.False), placement.OutageCluster, time.Time{}},
		"cluster answers": {reachable(tunnel.True), "", time.Time{}},
		"wiped relay":     {below(0, 0), placement.OutageNoSites, time.Time{}},
		"relay cut off": {
			below(2, 0, tunnel.SiteAway{Path: "a", Since: at.Unix() - 9}, tunnel.SiteAway{Path: "b", Since: at.Unix()}),
			placement.OutageBelow,
			at,
		},
		"relay half cut": {below(2, 1, tunnel.SiteAway{Path: "a", Since: at.Unix()}), "", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			api.change(
				targetsPath+"/paris",
				map[string]any{
					"metadata": map[string]any{"name": "paris", "uid": "paris"},
					"status":   map[string]any{"objects": 3},
				},
			)
			var told []string
			server := New(
				(&stub{count: func() int { return 3 }, outage: func(target string) { told = append(told, target) }}).in(
					Config{},
				),
			)
			api.follow(server)
			server.sessions["paris"] = &session{
				target: "paris",
				conn:   standingConn{target: "paris"},
				heard:  time.Now(),
				said:   c.said,
			}
			for range 2 { // the second changes nothing
				server.assess(time.Now())
			}
			o, out := server.cfg.Outages.Outage("paris")
			if out != (c.want != "") || o.Reason != c.want || !c.since.IsZero() && !o.Since.Equal(c.since) {
				t.Errorf("%+v, %t, want %s since %s", o, out, c.want, c.since)
			}
			if want := 1; out && len(told) != want || !out && len(told) != 0 {
				t.Errorf("told of %v", told)
			}
		})
	}
}

// The inbox of a target goes with its SyncTarget, and no other does.
func TestTheInboxOfARemovedTargetIsForgotten(t *testing.T) {
	api := newFakeAPI()
	for _, name := range []string{"paris", "rome"} {
		api.change(targetsPath+"/"+name, map[string]any{"metadata": map[string]any{"name": name, "uid": name}})
	}
	var forgotten []string
	server := New((&stub{forgotten: func(target string) { forgotten = append(forgotten, target) }}).in(Config{}))
	api.follow(server)
	api.change(targetsPath+"/paris", nil)
	if !slices.Equal(forgotten, []string{"paris"}) {
		t.Errorf("forgotten are the inboxes of %q", forgotten)
	}
}

// A center that starts believes what was last said of its targets, and waits for those that were
// connected.
func TestOutagesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		seen := time.Now().Add(-time.Hour).Truncate(time.Second)
		for name, status := range map[string]string{"gone": "False", "there": "True"} {
			api.change(targetsPath+"/"+name, map[string]any{"metadata": map[string]any{"name": name, "uid": name},
				"status": map[string]any{
					"lastSeen": seen.UTC().Format(time.RFC3339),
					"conditions": []any{map[string]any{"type": "Connected", "status": status,
						"reason": "X", "message": "", "lastTransitionTime": seen.UTC().Format(time.RFC3339)}},
				}})
		}
		server, _, stop := standingDoor(t, api, api)
		defer stop()
		if o, out := server.cfg.Outages.Outage("gone"); !out || !o.Since.Equal(seen) {
			t.Errorf("at the start: %+v, %t, want since %s", o, out, seen)
		}
		time.Sleep(welcomeBack - time.Second)
		if _, out := server.cfg.Outages.Outage("there"); out {
			t.Error("a target that was connected has an outage before it could come back")
		}
		time.Sleep(3 * time.Second)
		if o, out := server.cfg.Outages.Outage("there"); !out || !o.Since.Equal(seen) {
			t.Errorf("a target that did not come back: %+v, %t", o, out)
		}
	})
}

// A relay that lost its data, and with it its sites, is not healthy while objects are placed on it.
func TestRelayWithoutSites(t *testing.T) {
	said := &tunnel.ChildStatus{Subtree: &tunnel.SubtreeStatus{Reach: &tunnel.SubtreeReach{}}}
	for objects, want := range map[int]string{0: "True/AllWell", 3: "False/NoSites"} {
		st := &v1alpha1.SyncTarget{}
		subtreeTrouble(st, said, objects)
		if !says(st.Status, v1alpha1.ConditionSubtreeHealthy, want) {
			t.Errorf("%d objects: %+v", objects, st.Status.Conditions)
		}
		if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionSubtreeHealthy); objects > 0 &&
			!strings.Contains(c.Message, "no sites") {
			t.Error(c.Message)
		}
	}
}

// A time of the future, from before a clock was set back, does not stay.
func TestLastSeenGoesBack(t *testing.T) {
	now := time.Now()
	st := &v1alpha1.SyncTarget{}
	setLastSeen(st, now.Add(365*24*time.Hour))
	if !setLastSeen(st, now) || st.Status.LastSeen.After(now) {
		t.Errorf("last seen %s, it is %s", st.Status.LastSeen, now)
	}
	if setLastSeen(st, now) {
		t.Error(fmt.Sprint("the same minute is news: ", st.Status.LastSeen))
	}
}
