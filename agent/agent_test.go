package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
)

// whole is an agent as main runs it.
type whole struct {
	t      testing.TB
	cancel func()
	ended  chan error
}

func (c *center) agent(dir string, api *targettest.Server, token string) *whole {
	ctx, cancel := context.WithCancel(context.Background())
	w := &whole{c.t, cancel, make(chan error, 1)}
	cfg := Config{
		DataDir: dir,
		Parents: []string{c.web.URL},
		Token:   token,
		Name:    "paris",
		Target:  target.Cluster(api.Config()),
		Version: "v0",
		Log:     discard(),
		shared:  true,
	}
	go func() { w.ended <- Run(ctx, cfg) }()
	return w
}

func (w *whole) stop() {
	w.t.Helper()
	w.cancel()
	if err := <-w.ended; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

func TestDownAndUp(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	d := deployment(4, "app", "web", 2)
	c.place(namespace("app"), d, configMap("app", "c", "1"))
	eventually(t, "the objects are reported as applied", func() bool {
		for _, e := range []store.Entry{namespace("app"), d, configMap("app", "c", "1")} {
			if r := c.reported(e.Key); r == nil || r.Applied != e.Hash.String() {
				return false
			}
		}
		return true
	})
	api.SetStatus("apps", "deployments", "app", "web", map[string]any{"replicas": 2, "observedGeneration": 1})
	eventually(t, "the status is back", func() bool { return replicas(c.reported(d.Key)).Replicas == 2 })
	writes := len(api.Writes())

	w.stop()
	w = c.agent(dir, api, "") // no token any more
	next := deployment(5, "app", "web", 3)
	c.place(next)
	eventually(
		t,
		"a change after a restart is applied",
		func() bool { return c.reported(d.Key).Applied == next.Hash.String() },
	)
	if n := len(api.Writes()); n != writes+1 {
		t.Errorf("%d writes for one change over a restart", n-writes)
	}
	c.place(gone(next))
	eventually(
		t,
		"the deployment is gone",
		func() bool { return api.Object("apps", "deployments", "app", "web") == nil && c.reported(d.Key) == nil },
	)
	w.stop()

	for _, name := range []string{"agent.key", "seal.keys", "agent.db"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

func TestRestartOfTheAgentTakesNoReportBack(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	d := deployment(1, "default", "web", 1)
	c.place(d)
	eventually(t, "applied", func() bool { return c.reported(d.Key) != nil })
	api.SetStatus("apps", "deployments", "default", "web", map[string]any{"replicas": 1})
	eventually(t, "reported", func() bool { return replicas(c.reported(d.Key)).Replicas == 1 })
	w.stop()
	api.Pause(true) // the target does not answer lists for a while
	w = c.agent(dir, api, "")
	next := configMap("default", "c", "1")
	c.place(next)
	eventually(
		t,
		"the desired state flows meanwhile",
		func() bool { return api.Object("", "configmaps", "default", "c") != nil },
	)
	for range 50 {
		if replicas(c.reported(d.Key)).Replicas != 1 {
			t.Fatal("the report was taken back while the agent had not looked yet")
		}
		time.Sleep(time.Millisecond)
	}
	api.Pause(false)
	eventually(t, "reports flow again", func() bool { return c.reported(next.Key) != nil })
	if replicas(c.reported(d.Key)).Replicas != 1 {
		t.Error("the report is gone")
	}
	w.stop()
}

func TestCenterGoneAndBack(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	c.place(configMap("default", "a", "1"))
	eventually(t, "applied", func() bool { return c.reported(configMap("default", "a", "1").Key) != nil })
	c.close()
	c.place(configMap("default", "b", "1"), gone(configMap("default", "a", "1")))
	api.Remove("", "configmaps", "default", "a")
	eventually(
		t,
		"the site repairs what it knows while alone",
		func() bool { return api.Object("", "configmaps", "default", "a") != nil },
	)
	c.open()
	eventually(t, "the change comes through", func() bool {
		return api.Object("", "configmaps", "default", "b") != nil &&
			api.Object("", "configmaps", "default", "a") == nil
	})
	w.stop()
}

func TestCenterWithOtherDataIsHeld(t *testing.T) {
	t.Parallel()
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	w := c.agent(dir, api, c.token.String())
	a := configMap("default", "a", "1")
	c.place(a)
	eventually(t, "applied", func() bool { return c.reported(a.Key) != nil })
	before, incarnation, revision := len(api.Writes()), c.feed.Head().Incarnation, c.revision
	c.close()
	c.reset(store.NewIncarnation(), 1)
	c.place(configMap("default", "b", "1"))
	held, _ := c.hold()
	c.open()
	awaitHeld(t, held)
	api.Remove("", "configmaps", "default", "a")
	eventually(t, "what was placed is enforced meanwhile", func() bool { return len(api.Writes()) > before })
	if api.Object("", "configmaps", "default", "b") != nil {
		t.Error("a center with other data was obeyed")
	}
	c.close()
	c.reset(incarnation, revision+1)
	c.place(configMap("default", "a", "1"), configMap("default", "c", "1"))
	c.open()
	eventually(
		t,
		"the repaired center is obeyed",
		func() bool { return api.Object("", "configmaps", "default", "c") != nil },
	)
	if api.Object("", "configmaps", "default", "b") != nil {
		t.Error("what the wrong center wanted came through")
	}
	w.stop()
}

func TestRefusalsEndTheAgent(t *testing.T) {
	cases := map[string]struct {
		prepare func(c *center) (token string)
		want    error
	}{
		"no token":     {func(*center) string { return "" }, enroll.ErrNotEnrolled},
		"broken token": {func(*center) string { return "skt1.nonsense" }, enroll.ErrTokenFormat},
		"unknown token": {
			func(c *center) string { return enroll.NewToken(c.token.Pin).String() },
			enroll.ErrTokenUnknown,
		},
		"used token": {func(c *center) string { c.used = true; return c.token.String() }, enroll.ErrTokenUsed},
		"wrong CA":   {func(c *center) string { return newCenter(c.t).token.String() }, enroll.ErrWrongCA},
		"clock off":  {func(c *center) string { c.clock = time.Hour; return c.token.String() }, enroll.ErrClock},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c, api := newCenter(t), targettest.NewInMemory(t)
			w := c.agent(t.TempDir(), api, test.prepare(c))
			select {
			case err := <-w.ended:
				if !errors.Is(err, ErrRefused) || !errors.Is(err, test.want) {
					t.Errorf("Run = %v, want %v", err, test.want)
				}
			case <-time.After(time.Minute):
				t.Error("the agent goes on")
				w.stop()
			}
			if n := len(api.Writes()); n != 0 {
				t.Errorf("%d writes to the target", n)
			}
		})
	}
}

func TestCertificateIsRenewedInTheSession(t *testing.T) {
	c, api, dir := newCenter(t), targettest.NewInMemory(t), t.TempDir()
	c.life = 3 * time.Second
	w := c.agent(dir, api, c.token.String())
	var first time.Time
	eventually(t, "joined", func() bool {
		credentials, err := enroll.Load(dir, enroll.NewClock(enroll.ClockState{}))
		if err == nil {
			first = credentials.NotAfter()
		}
		return err == nil
	})
	eventually(t, "renewed before it ends", func() bool {
		credentials, err := enroll.Load(dir, enroll.NewClock(enroll.ClockState{}))
		return err == nil && credentials.NotAfter().After(first)
	})
	if time.Now().After(first) {
		t.Error("renewed only after the end")
	}
	w.stop()
}
