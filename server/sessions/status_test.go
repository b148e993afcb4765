package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

func (f *fakeAPI) status(t testing.TB, name string) v1alpha1.SyncTargetStatus {
	t.Helper()
	var st v1alpha1.SyncTarget
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(f.get(targetsPath+"/"+name), &st))
	return st.Status
}

// says reports whether a condition has a status, and a reason if that is asked for: "True",
// "False/Behind".
func says(s v1alpha1.SyncTargetStatus, kind, want string) bool {
	c := apimeta.FindStatusCondition(s.Conditions, kind)
	status, reason, _ := strings.Cut(want, "/")
	return c != nil && string(c.Status) == status && (reason == "" || c.Reason == reason)
}

func (f *fakeAPI) count() (writes, changes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes, f.changes
}

func TestStatusOfASession(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.open()
	c.objects.Store(3)
	s := c.joined("paris")
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "paris") }
	within(t, "what is so before the first session", func() bool {
		return says(status(), v1alpha1.ConditionConnected, "False/NoSession") &&
			says(status(), v1alpha1.ConditionSynced, "Unknown")
	})
	l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Hello.Relay = true })
	within(t, "connected and synced", func() bool {
		return says(status(), v1alpha1.ConditionConnected, "True") &&
			says(status(), v1alpha1.ConditionSynced, "True/UpToDate")
	})
	if is := status(); !is.Relay || is.AgentVersion != "v1.2" || is.KubernetesVersion != "v1.36" ||
		is.Transport != "quic" || is.Objects != 3 ||
		is.LastSeen == nil || time.Since(is.LastSeen.Time) > 2*time.Minute || is.LastSeen.Second() != 0 {
		t.Errorf("status %+v", is)
	}
	c.place(7)
	within(t, "that it has stored the changes", func() bool {
		is := c.sessions.session("paris").state(3)
		return is.acked == 9 && is.done
	})
	c.objects.Store(0)
	c.sessions.session("paris").markChanged() // the feed has changed, else the number would not
	within(t, "no objects any more, and the applied revision", func() bool {
		return status().Objects == 0 && status().AppliedRevision == 9 && says(status(), v1alpha1.ConditionSynced, "True")
	})
	writes, _ := c.api.count()
	time.Sleep(3 * glance)
	if now, _ := c.api.count(); now != writes {
		t.Errorf("%d writes of a status that did not change", now-writes)
	}
	c.unkept.Store(4)
	c.sessions.Touch("paris")
	within(t, "reports that are not kept", func() bool {
		return says(status(), v1alpha1.ConditionReportsKept,
			"False/TooMuchReported")
	})
	if m := apimeta.FindStatusCondition(status().Conditions,
		v1alpha1.ConditionReportsKept).Message; !strings.HasPrefix(m, "4 reports") {
		t.Error(m)
	}
	c.unkept.Store(0)
	c.sessions.Touch("paris")
	within(t, "all reports", func() bool {
		return apimeta.FindStatusCondition(status().Conditions, v1alpha1.ConditionReportsKept) == nil
	})
	l.says.Set(tunnel.Condition{Type: tunnel.TargetReachable, Status: tunnel.False, Reason: "Refused",
		Message: "no route"})
	l.says.Set(tunnel.Condition{Type: tunnel.ClockInSync, Status: tunnel.False, Reason: "Behind", Message: "an hour"})
	l.says.Set(tunnel.Condition{Type: "Connected", Status: tunnel.False, Reason: "Forged"})
	within(t, "the problem", func() bool {
		return says(status(), v1alpha1.ConditionTargetReachable, "False/Refused") &&
			says(status(), v1alpha1.ConditionSynced, "False/Refused") &&
			says(status(), v1alpha1.ConditionClockInSync, "False/Behind")
	})
	if !says(status(), v1alpha1.ConditionConnected, "True") || !says(status(), v1alpha1.ConditionCenterTrusted, "True") {
		t.Errorf("conditions %+v", status().Conditions)
	}
	l.says.Clear(tunnel.TargetReachable)
	within(t, "its end", func() bool {
		return says(status(), v1alpha1.ConditionSynced, "True") &&
			apimeta.FindStatusCondition(status().Conditions, v1alpha1.ConditionTargetReachable) == nil
	})
	l.says.Set(tunnel.Condition{Type: tunnel.StoreHealthy, Status: tunnel.False, Reason: "DiskRefuses",
		Message: "no space left"})
	within(t, "a site that cannot store is not synced, and it is said why",
		func() bool { return says(status(), v1alpha1.ConditionSynced, "False/DiskRefuses") })
	l.says.Clear(tunnel.StoreHealthy)
	within(t, "it is synced again", func() bool { return says(status(), v1alpha1.ConditionSynced, "True") })
	l.stop()
	within(t, "disconnected", func() bool {
		return says(status(), v1alpha1.ConditionConnected, "False") && says(status(), v1alpha1.ConditionSynced, "Unknown")
	})
	c.connect(s)
	within(t, "what the agent no longer is", func() bool {
		return says(status(), v1alpha1.ConditionConnected,
			"True") && !status().Relay
	})
}

// slow is a sink that stores nothing until it may.
type slow struct {
	*storetest.Memory
	may chan struct{}
}

func (s slow) Commit(ctx context.Context, b store.Batch) error {
	select {
	case <-s.may:
		return s.Memory.Commit(ctx, b)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAgentThatIsBehind(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	sink := slow{storetest.NewMemory(), make(chan struct{}, 1000)}
	sink.may <- struct{}{} // for the position of an empty feed
	l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Desired = sink })
	status := func() v1alpha1.SyncTargetStatus { return c.api.status(t, "paris") }
	within(t, "synced", func() bool { return says(status(), v1alpha1.ConditionSynced, "True") })
	for len(sink.may) > 0 {
		<-sink.may
	}
	c.place(1) // nobody touches the target now: the server has to see by itself
	within(t, "behind", func() bool { return says(status(), v1alpha1.ConditionSynced, "False/Behind") })
	l.says.Set(tunnel.Condition{Type: tunnel.StoreHealthy, Status: tunnel.False, Reason: "DiskFull",
		Message: "no space on the disk"})
	within(t, "that it cannot store what it is sent",
		func() bool { return says(status(), v1alpha1.ConditionSynced, "False/DiskFull") })
	l.says.Clear(tunnel.StoreHealthy)
	close(sink.may)
	within(t, "synced again", func() bool {
		return says(status(), v1alpha1.ConditionSynced, "True") &&
			status().AppliedRevision == 3
	})
}

func TestFailedStatusIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusInternalServerError, http.StatusConflict} {
		c := newCenter(t)
		stop := c.open()
		failures := 3
		c.api.mu.Lock()
		c.api.meddle = func(r *http.Request, path string) int {
			if r.Method == http.MethodPut && path == targetsPath+"/paris" && failures > 0 {
				failures--
				return code
			}
			return 0
		}
		c.api.mu.Unlock()
		c.connect(c.joined("paris"))
		within(t, "the status", func() bool { return says(c.api.status(t, "paris"), v1alpha1.ConditionSynced, "True") })
		stop()
	}
}

// A server that starts gives its targets time to come back before it says that they are gone;
// nothing is left when it ends.
func TestStatusOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		conditions := []any{map[string]any{"type": v1alpha1.ConditionConnected, "status": "True",
			"reason": "SessionOpen", "message": "",
			"lastTransitionTime": "2026-01-01T00:00:00Z"}}
		api.change(targetsPath+"/known", map[string]any{"metadata": map[string]any{"name": "known", "uid": "a"},
			"status": map[string]any{"conditions": conditions}})
		api.change(targetsPath+"/new", map[string]any{"metadata": map[string]any{"name": "new", "uid": "b"}})
		server := New(new(stub).in(Config{API: func() *rest.Config {
			return &rest.Config{Host: "http://api",
				QPS: -1, Transport: api}
		},
			Log: slog.New(slog.DiscardHandler)}))
		api.follow(server)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { server.runStatusWriter(ctx); close(done) }()
		server.targets.touch("known", "new")
		time.Sleep(welcomeSoon - time.Second)
		if !says(api.status(t, "known"), v1alpha1.ConditionConnected, "True/SessionOpen") {
			t.Errorf("at the start: %+v", api.status(t, "known"))
		}
		time.Sleep(2 * time.Second)
		if !says(api.status(t, "known"), v1alpha1.ConditionConnected, "True/Silent") {
			t.Errorf("a target that has not come back soon: %+v", api.status(t, "known"))
		}
		time.Sleep(welcomeBack - welcomeSoon - 2*time.Second)
		if !says(api.status(t, "known"), v1alpha1.ConditionConnected, "True") ||
			!says(api.status(t, "new"), v1alpha1.ConditionConnected, "False") {
			t.Errorf("soon after the start: %+v, %+v", api.status(t, "known"), api.status(t, "new"))
		}
		time.Sleep(2 * time.Second)
		if !says(api.status(t, "known"), v1alpha1.ConditionConnected, "False") {
			t.Errorf("a target that did not come back: %+v", api.status(t, "known"))
		}
		writes, _ := api.count()
		time.Sleep(time.Hour)
		if now, _ := api.count(); now != writes {
			t.Errorf("%d writes in an hour in which nothing happened", now-writes)
		}
		cancel()
		<-done
	})
}

// standingConn is a connection as far as a status needs one.
type standingConn struct {
	tunnel.Conn
	target string
}

// Stats implements tunnel.Conn: a kilobyte a second goes down, and something comes up in each.
func (standingConn) Stats() tunnel.Stats {
	seconds := uint64(time.Now().Unix() - 946684800)
	return tunnel.Stats{SentBytes: seconds << 10, ReceivedBytes: seconds}
}
func (c standingConn) Transport() string     { return "quic" }
func (c standingConn) Peer() tunnel.Identity { return tunnel.Identity{Target: c.target} }

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		_, _, stop := standingDoor(t, api, api, "paris")
		for range 10 {
			time.Sleep(heartbeat + glance)
			if seen := api.status(t, "paris").LastSeen; seen == nil || time.Since(seen.Time) > 2*heartbeat {
				t.Errorf("at %s it was last seen %s", time.Now(), seen)
			}
			if is := api.status(t, "paris").BytesToday; is == nil || time.Now().Unix()-946684800-is.Down>>10 > 120 {
				t.Errorf("at %s %+v went down, a kilobyte a second", time.Now(), is)
			}
		}
		if writes, changes := api.count(); writes > 12 || changes != writes {
			t.Errorf("%d writes in 10 minutes, %d of them changed something", writes, changes)
		}
		stop()
	})
}

// A touch that comes while statuses are written is not lost.
func TestTouchesAreNotLost(t *testing.T) {
	targets := newTargets()
	const names, rounds = 20, 200
	seen := make(chan string, names*rounds)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-targets.wake:
				for _, name := range targets.takeChanged() {
					seen <- name
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	for round := range rounds {
		want := map[string]bool{}
		for i := range names {
			name := time.Duration(i).String()
			want[name] = true
			if (i+round)%3 == 0 {
				targets.failed(name)
				targets.retry()
			} else {
				targets.touch(name)
			}
		}
		for len(want) > 0 {
			delete(want, got(t, seen, "a touched target"))
		}
		for len(seen) > 0 {
			<-seen
		}
	}
	cancel()
	<-done
}

// A status is written for one version of one object, and as a whole: what it does not say is gone.
func TestStatusBodyNamesItsObject(t *testing.T) {
	seen := metav1.NewTime(time.Unix(1764000000, 0))
	body, err := statusBody(&v1alpha1.SyncTarget{ObjectMeta: metav1.ObjectMeta{Name: "paris", UID: "u",
		ResourceVersion: "5"}, Status: v1alpha1.SyncTargetStatus{LastSeen: &seen}})
	must(t, err)
	if want := `{"apiVersion":"skerry.dev/v1alpha1","kind":"SyncTarget","metadata":{"name":"paris","resourceVersion":"5","uid":"u"},"status":{"lastSeen":"2025-11-24T16:00:00Z","objects":0,"applied":0,"refused":0}}`; string(body) != want {
		t.Errorf("body %s", body)
	}
}

// slowAPI takes a while for each request.
type slowAPI struct {
	*fakeAPI
	takes time.Duration
}

func (s slowAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(s.takes)
	return s.fakeAPI.RoundTrip(r)
}

// When many statuses have to be written, most of the time is left for what else a crowd of sites
// needs. A few are written at once.
func TestManyStatusesLeaveTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 10 * time.Millisecond
		for n, each := range map[int]time.Duration{crowd: takes, 2 * crowd: (1 + crowdPause) * takes} {
			api := newFakeAPI()
			server := New(new(stub).in(Config{API: func() *rest.Config {
				return &rest.Config{Host: "http://api",
					QPS: -1, Transport: slowAPI{api, takes}}
			},
				Log: slog.New(slog.DiscardHandler)}))
			for i := range n {
				name := fmt.Sprintf("site-%d", i)
				api.change(targetsPath+"/"+name, map[string]any{"metadata": map[string]any{"name": name, "uid": name}})
			}
			api.follow(server)
			began := time.Now()
			server.waited.Store(true)
			if !server.updateStatuses(t.Context(), server.targets.takeChanged(), nil) {
				t.Error("the context has ended")
			}
			if took := time.Since(began); took != time.Duration(n)*each {
				t.Errorf("%d statuses took %s, want %s", n, took, time.Duration(n)*each)
			}
			if writes, _ := api.count(); writes != n {
				t.Errorf("%d writes for %d targets", writes, n)
			}
		}
	})
}
