package failpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/testenv/cluster"
	"skerry.dev/skerry/testenv/drive"
)

type object = map[string]any

// site is a center and an agent with failpoints, beside a simulated cluster of its own.
type site struct {
	drive.Site
	edgeConfig, address string
	edge, space         *drive.Kube
	center, agent       *drive.Process
	points              map[string]control // of the running processes, by name
}

// start brings everything up and ends it with the test.
func start(ctx context.Context, t *testing.T) *site {
	t.Helper()
	skerry, testenv := binary(t, "SKERRY_FAILPOINTS_BIN"), binary(t, "TESTENV_BIN")
	t.Setenv(cluster.StateVariable, t.TempDir())
	s := &site{Site: drive.Site{Skerry: skerry, Testenv: testenv, Dir: t.TempDir()}, points: map[string]control{}}
	t.Cleanup(func() {
		for _, p := range []*drive.Process{s.agent, s.center} {
			if p != nil {
				p.Stop()
			}
			if p != nil && t.Failed() {
				t.Logf("end of %s's log:\n%s", p.Name, drive.Tail(p.Log, 100))
			}
		}
		if out, err := s.Run(context.Background(), testenv, "down", "--all"); err != nil {
			t.Errorf("take the cluster down: %v %s", err, out)
		}
	})
	out, err := s.Run(ctx, testenv, "up", "--kind", "simulated", "killed")
	must(t, err)
	s.edgeConfig = drive.LastLine(out)
	s.edge, err = drive.OpenKube(s.edgeConfig)
	must(t, err)
	s.address, err = drive.FreeAddress()
	must(t, err)
	must(t, s.startCenter(ctx))
	admin := filepath.Join(s.Dir, "center", "admin.kubeconfig")
	token, err := s.Run(ctx, skerry, "token", "create", "--kubeconfig", admin, "-o", "token")
	must(t, err)
	must(t, s.startAgent("--token", drive.LastLine(token)))
	_, err = s.Run(ctx, skerry, "space", "create", "shop", "--kubeconfig", admin)
	must(t, err)
	out, err = s.Run(ctx, skerry, "space", "kubeconfig", "shop", "--role", "cluster-admin", "--kubeconfig", admin)
	must(t, err)
	path := filepath.Join(s.Dir, "shop.kubeconfig")
	must(t, os.WriteFile(path, []byte(out), 0o600))
	s.space, err = drive.OpenKube(path)
	must(t, err)
	return s
}

func (s *site) startCenter(ctx context.Context) error {
	c, env, err := newControl()
	if err != nil {
		return err
	}
	s.center, err = drive.Start(s.Dir, "center", env, s.Skerry, "center", "--data-dir",
		filepath.Join(s.Dir, "center"), "--listen", s.address)
	if err != nil {
		return err
	}
	s.points["center"] = c
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = s.center.WaitLine(ctx, "ready")
	return err
}

func (s *site) startAgent(args ...string) error {
	c, env, err := newControl()
	if err != nil {
		return err
	}
	s.points["agent"] = c
	s.agent, err = drive.Start(s.Dir, "agent", env, s.Skerry,
		append([]string{"agent", "--data-dir", filepath.Join(s.Dir, "agent"),
			"--parent", "https://" + s.address, "--name", "site", "--kubeconfig", s.edgeConfig}, args...)...)
	return err
}

// kill ends a process with SIGKILL and starts it again.
func (s *site) kill(ctx context.Context, process string) error {
	if process == "center" {
		s.center.Kill()
		return s.startCenter(ctx)
	}
	s.agent.Kill()
	return s.startAgent()
}

// journal counts what was written to objects of one collection at the target, by name.
type journal struct {
	mu     sync.Mutex
	events map[string]map[string]int
}

// follow begins a journal; it ends with ctx.
func follow(ctx context.Context, k *drive.Kube, path string) (*journal, error) {
	j := &journal{events: map[string]map[string]int{}}
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- k.Watch(ctx, path, began, func(typ string, _ time.Time, raw json.RawMessage) {
			var o struct{ Metadata struct{ Name string } }
			if json.Unmarshal(raw, &o) != nil {
				return
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.events[o.Metadata.Name] == nil {
				j.events[o.Metadata.Name] = map[string]int{}
			}
			j.events[o.Metadata.Name][typ]++
		})
	}()
	select {
	case <-began:
		return j, nil
	case err := <-ended:
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
}

// of returns how often an object was written, as "added modified deleted".
func (j *journal) of(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.events[name]
	return fmt.Sprintf("%d %d %d", e["ADDED"], e["MODIFIED"], e["DELETED"])
}

// get reads an object; nil when there is none.
func get(ctx context.Context, k *drive.Kube, path string) (object, error) {
	data, err := k.Do(ctx, http.MethodGet, path, "", nil)
	var status *drive.StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o object
	return o, json.Unmarshal(data, &o)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func binary(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: make scenarios sets it", variable)
	}
	return path
}
