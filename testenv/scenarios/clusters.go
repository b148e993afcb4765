package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"skerry.dev/skerry/testenv/cluster"
)

// sharedClusters are the clusters that all scripts of a run use. Each starts
// when it is first used.
type sharedClusters struct {
	testenv string
	env     []string

	mu      sync.Mutex
	started map[string]func() error
}

func newSharedClusters(testenv, state string) *sharedClusters {
	return &sharedClusters{
		testenv: testenv,
		env:     append(os.Environ(), cluster.StateVariable+"="+state),
		started: map[string]func() error{},
	}
}

// shared are the shared clusters' names and kinds.
var shared = map[string]cluster.Kind{
	"real-1":      cluster.Real,
	"real-2":      cluster.Real,
	"simulated-1": cluster.Simulated,
	"simulated-2": cluster.Simulated,
}

// use returns when the clusters are up. They start at the same time.
func (s *sharedClusters) use(names []string) error {
	var ups []func() error
	s.mu.Lock()
	for _, name := range names {
		if s.started[name] == nil {
			s.started[name] = sync.OnceValue(func() error {
				return s.run("up", "--kind", string(shared[name]), name)
			})
		}
		ups = append(ups, s.started[name])
	}
	s.mu.Unlock()
	errs := make(chan error)
	for _, up := range ups {
		go func() { errs <- up() }()
	}
	var first error
	for range ups {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// down takes down every cluster of the run, also those that a script forgot.
func (s *sharedClusters) down() error { return s.run("down", "--all") }

func (s *sharedClusters) run(args ...string) error {
	cmd := exec.Command(s.testenv, args...)
	cmd.Env = s.env
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("testenv %s: %w\n%s", strings.Join(args, " "), err, output.String())
	}
	return nil
}

// cluster is the script command of that name.
func (r *runner) cluster(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: cluster use|up|down|stop|start [FLAGS] NAME...")
	}
	verb, rest := args[0], args[1:]
	if verb != "use" {
		requireRoot(ts, strings.Contains(strings.Join(rest, " "), "real"))
		if verb == "up" {
			name := rest[len(rest)-1]
			ts.Defer(func() {
				if one, err := (&exec.Cmd{Path: r.shared.testenv, Args: []string{"testenv", "list"},
					Env: r.shared.env}).Output(); err == nil && listed(string(one), name) {
					ts.Check(r.shared.run("down", name))
				}
			})
		}
		check(ts, neg, ts.Exec("testenv", args...))
		return
	}
	if neg {
		ts.Fatalf("unsupported: ! cluster use")
	}
	for _, name := range rest {
		kind, ok := shared[name]
		if !ok {
			ts.Fatalf("no shared cluster %q; there are: real-1, real-2, simulated-1, simulated-2", name)
		}
		requireRoot(ts, kind == cluster.Real)
	}
	ts.Check(r.shared.use(rest))
}

// listed says whether the output of "testenv list" has a cluster of this name.
func listed(output, name string) bool {
	for line := range strings.Lines(output) {
		if first, _, _ := strings.Cut(line, " "); first == name {
			return true
		}
	}
	return false
}
