package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

// killedEnv holds, as JSON, what an agent is to do that runs in a process of its own, so that it
// can be killed.
const killedEnv = "SKERRY_TEST_KILLED_AGENT"

type killed struct {
	Dir, Parent, Token, Target string
	Harmless                   bool
}

func beKilled() {
	var k killed
	if err := json.Unmarshal([]byte(os.Getenv(killedEnv)), &k); err != nil {
		panic(err)
	}
	err := Run(
		context.Background(),
		Config{DataDir: k.Dir, Parents: []string{k.Parent}, Token: k.Token, Name: "paris", MaxDeleteShare: 100,
			Target: target.Cluster(
				&rest.Config{Host: k.Target, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
					if k.Harmless {
						return next
					}
					return deadly{next}
				}},
			)},
	)
	panic(err)
}

// deadly kills the process now and then while the target makes an object: its entry may not be
// durable yet.
type deadly struct{ next http.RoundTripper }

// WrappedRoundTripper is how the agent comes to the transport's certificates.
func (d deadly) WrappedRoundTripper() http.RoundTripper { return d.next }

func (d deadly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && rand.IntN(15) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, func() {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
		})
	}
	return d.next.RoundTrip(r)
}

func (k killed) start(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// An agent is killed at any moment, also between the write of an object and the commit of its
// entry, while the center makes, changes and deletes objects, and forgets the deletions that it has
// told once. In the end the target has what is wanted and nothing else, and no version of an object
// was written twice.
func TestKilledWhileApplying(t *testing.T) {
	t.Parallel()
	kills := 25
	if testing.Short() {
		kills = 5
	}
	c, api := newCenter(t), targettest.New(t)
	k := killed{Dir: t.TempDir(), Parent: c.web.URL, Token: c.token.String(), Target: api.Config().Host}
	want := map[int]store.Entry{}
	version := 0
	churn := func() {
		var decision []store.Entry
		for range 1 + rand.IntN(8) {
			n := rand.IntN(60)
			version++
			if e, there := want[n]; there && rand.IntN(2) == 0 {
				decision = append(decision, gone(e))
				delete(want, n)
				continue
			}
			e := liveAt(
				int64(version),
				"",
				"configmaps",
				"v1",
				"ConfigMap",
				"default",
				fmt.Sprint("c", n),
				map[string]any{"data": map[string]any{"v": fmt.Sprint(version)}},
			)
			decision, want[n] = append(decision, e), e
		}
		c.place(decision...)
	}
	joined := liveAt(
		0,
		"",
		"configmaps",
		"v1",
		"ConfigMap",
		"default",
		"joined",
		map[string]any{"data": map[string]any{"v": "0"}},
	)
	c.place(joined)
	k.Harmless = true
	agent := k.start(t)
	c.eventuallyApplied([]store.Entry{joined})
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	k.Token, k.Harmless = "", false // a token is for one time: an agent that dies while it joins would need another
	for range kills {
		agent := k.start(t)
		ended := make(chan error, 1)
		go func() { ended <- agent.Wait() }()
		for alive := true; alive; {
			churn()
			select {
			case <-ended:
				alive = false
			case <-time.After(time.Duration(1+rand.IntN(4)) * time.Millisecond):
			}
			if rand.IntN(400) == 0 {
				_ = agent.Process.Kill() // or it has just done so itself
			}
		}
		if status := agent.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
			t.Fatalf("an agent ended by itself: %v", agent.ProcessState)
		}
		// What was on its way is not wanted any more, and the center does not remember that it ever
		// was.
		for n, e := range want {
			if int(e.Generation) > version-20 {
				c.place(gone(e))
				delete(want, n)
			}
		}
		c.forgetDeletions()
	}
	k.Harmless = true
	agent = k.start(t)
	all := []store.Entry{joined}
	for _, e := range want {
		all = append(all, e)
	}
	c.eventuallyApplied(all)
	eventually(t, "the target has what is wanted and nothing else", func() bool {
		for n := range 60 {
			o := api.Object("", "configmaps", "default", fmt.Sprint("c", n))
			e, wanted := want[n]
			if wanted != (o != nil) {
				return false
			}
			if wanted && o["data"].(map[string]any)["v"] != fmt.Sprint(e.Generation) {
				return false
			}
		}
		return true
	})
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
}
