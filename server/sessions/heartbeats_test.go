package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

func sites(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("site-%d", i))
	}
	return names
}

// standingDoor is a server that keeps the statuses of targets until stop returns, through a
// transport to the API. All of them have a session and all that is in one feed.
func standingDoor(
	t *testing.T,
	api *fakeAPI,
	through http.RoundTripper,
	targets ...string,
) (server *Server, feed *store.Feed, stop func()) {
	server = New((&stub{count: func() int { api.asked.Add(1); return 0 }}).in(Config{
		API: func() *rest.Config { return &rest.Config{Host: "http://api", QPS: -1, Transport: through} },
		Log: slog.New(slog.DiscardHandler)}))
	feed = store.NewFeed(
		store.NewIncarnation(),
		1,
		func(context.Context, store.Key) ([]byte, int64, error) { return nil, 0, errors.New("no body") },
	)
	for _, name := range targets {
		api.change(targetsPath+"/"+name, map[string]any{"metadata": map[string]any{"name": name, "uid": name}})
	}
	api.follow(server)
	for _, name := range targets {
		s := &session{
			target: name,
			conn:   standingConn{target: name},
			heard:  time.Now(),
			acked:  feed.Head(),
			use:    tunnel.NewLinkUse(tunnel.Link{}),
		}
		s.watches(feed)
		server.sessions[name] = s
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { server.runStatusWriter(ctx); close(done) }()
	return server, feed, func() { cancel(); <-done }
}

// Thousands of targets are not written all at once, and none is forgotten.
func TestHeartbeatsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 60
		api := newFakeAPI()
		server, feed, stop := standingDoor(t, api, api, sites(n)...)
		time.Sleep(welcomeBack + heartbeat - glance) // everything was looked at when the absent ones were
		before, _ := api.count()
		time.Sleep(10 * glance)
		if now, _ := api.count(); now-before > 10 || now == before {
			t.Errorf("%d writes in %s, at most one a glance", now-before, 10*glance)
		}
		time.Sleep(heartbeat)
		for i := range n {
			if seen := api.status(t, fmt.Sprintf("site-%d", i)).LastSeen; seen == nil ||
				time.Since(seen.Time) > 2*heartbeat {
				t.Errorf("site-%d was last seen %s, it is %s", i, seen, time.Now())
			}
		}
		before, _ = api.count()
		feed.Apply(
			2,
			store.Change{
				Key:        store.Key{Space: "s", Resource: "configmaps", Name: "one"},
				Hash:       store.HashBody(1, []byte("{}")),
				Generation: 1,
			},
		)
		for _, s := range server.current() { // all have stored it before anybody looks
			s.acknowledged(feed.Head())
		}
		time.Sleep(5 * glance)
		if now, _ := api.count(); now-before > 5+1 {
			t.Errorf("%d writes in %s after a change for all, at most a heartbeat a glance", now-before, 5*glance)
		}
		time.Sleep(heartbeat)
		for i := range n {
			if at := api.status(t, fmt.Sprintf("site-%d", i)).AppliedRevision; at != 2 {
				t.Errorf("site-%d has applied revision %d, it says", i, at)
			}
		}
		stop()
	})
}

// A session to which nothing happens is left alone but for its heartbeat, and what happens to it is
// seen in the next glance.
func TestIdleSessionsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, glances = 60, 20
		api := newFakeAPI()
		_, feed, stop := standingDoor(t, api, api, sites(n)...)
		time.Sleep(welcomeBack + 10*glance)
		before := api.asked.Load()
		time.Sleep(glances * glance)
		// Each once for what has crossed its link, and what its heartbeat asks.
		if now := api.asked.Load(); now-before > n+glances {
			t.Errorf("%d looks at %d sessions in %d glances, nothing has happened", now-before, n, glances)
		}
		feed.Apply(
			2,
			store.Change{
				Key:        store.Key{Space: "s", Resource: "configmaps", Name: "one"},
				Hash:       store.HashBody(1, []byte("{}")),
				Generation: 1,
			},
		)
		time.Sleep(lateAfter - glance)
		if is := api.status(t, "site-0"); says(is, v1alpha1.ConditionSynced, "False") {
			t.Errorf("the change has only begun to be late, and one says %+v", is)
		}
		time.Sleep(settle + 4*glance)
		if is := api.status(t, "site-0"); !says(is, v1alpha1.ConditionSynced, "False/Behind") {
			t.Errorf("the sites lack something, and one says %+v", is)
		}
		stop()
	})
}

// Heartbeats take little of the time, however many targets there are; when a session ends, the
// status says when the target was last heard of.
func TestHeartbeatsLeaveTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, takes = 60, 20 * time.Millisecond
		api := newFakeAPI()
		server, _, stop := standingDoor(t, api, slowAPI{api, takes}, sites(n)...)
		time.Sleep(welcomeBack + 2*heartbeat)
		before, _ := api.count()
		time.Sleep(100 * beatShare * takes)
		if now, _ := api.count(); now-before < 70 || now-before > 101 {
			t.Errorf("%d writes in the time of 100", now-before)
		}
		left := time.Now()
		for name, s := range server.current() {
			server.leave(s, left)
			time.Sleep(5 * glance)
			if seen := api.status(t, name).LastSeen; seen == nil || !seen.Time.Equal(left.Truncate(time.Second)) {
				t.Errorf("%s was last seen %s, it left at %s", name, seen, left)
			}
			break
		}
		stop()
	})
}
