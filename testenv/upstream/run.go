package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// Options say what to run and with what.
type Options struct {
	// Skerry and Testenv are the paths of the product's and of this module's binaries.
	Skerry, Testenv string
	// Built is the directory with what `make conformance` builds: specs.test, ginkgo, kubectl and
	// kubectl-convert, all of upstream.
	Built string
	// Lists is the directory with the declared lists, testenv/conformance.
	Lists string
	// Upstream is the directory of Kubernetes' sources.
	Upstream string
	// Rounds are the numbers of spaces at once that the specs run in; empty is none.
	Rounds []int
	// Site says whether those specs run too that need a site; it is a simulated cluster.
	Site bool
	// Functions says whether kubectl's test functions run too.
	Functions bool
	// Procs is how many specs run side by side in one space.
	Procs int
	// Focus limits what is run to names that match; nil is all.
	Focus *regexp.Regexp
	// Summary is the file that gets the rounds as JSON; logs are beside it, in a directory.
	Summary string
	Log     io.Writer
}

// ErrNotPassed is returned when tests have run and some have not passed.
var ErrNotPassed = errors.New("not everything has passed")

type run struct {
	Options
	drive.Site
	center *drive.Center
	logs   string

	mu     sync.Mutex
	rounds []*Round
}

// Run starts a center, runs the rounds, prints a line for each test and a table at the end, and
// stops what it has started.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "skerry-conformance-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	logs := strings.TrimSuffix(o.Summary, filepath.Ext(o.Summary)) + "-logs"
	if err := errors.Join(os.RemoveAll(logs), os.MkdirAll(logs, 0o755)); err != nil {
		return fmt.Errorf("make a directory for logs: %w", err)
	}
	r := &run{Options: o, Site: drive.Site{Skerry: o.Skerry, Testenv: o.Testenv, Kubectl: filepath.Join(o.Built,
		"kubectl"), Dir: dir}, logs: logs}
	if r.center, err = r.StartCenter(ctx, "center", ""); err != nil {
		return err
	}
	defer func() {
		r.center.Stop()
		err = errors.Join(err, os.Rename(r.center.Log, filepath.Join(logs, "center.log")), os.RemoveAll(dir))
	}()
	for _, spaces := range o.Rounds {
		if err := r.specs(ctx, spaces); err != nil {
			return err
		}
	}
	if o.Site {
		if err := r.withSite(ctx); err != nil {
			return err
		}
	}
	if o.Functions {
		if err := r.functions(ctx); err != nil {
			return err
		}
	}
	return r.finish()
}

func (r *run) finish() error {
	if len(r.rounds) == 0 {
		return errors.New("nothing was run: no declared test matches --focus")
	}
	table(r.Options.Log, r.rounds)
	data, err := json.MarshalIndent(r.rounds, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.Summary, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	fmt.Fprintf(r.Options.Log, "\nsummary: %s, logs: %s\n", r.Summary, r.logs)
	for _, round := range r.rounds {
		if !round.complete() {
			return ErrNotPassed
		}
	}
	return nil
}

func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Options.Log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// progress prints how one test ended.
func (r *run) progress(n, of int, x Result) {
	r.say("%s %3d/%d %-8s %6.1fs %s", x.Space, n, of, x.State, x.Seconds, x.Test)
	if x.State != passed {
		first, _, _ := strings.Cut(strings.TrimSpace(x.Message), "\n")
		r.say("%s          %.300s (%s)", x.Space, first, x.At)
	}
}

// space makes a space and returns its kubeconfig.
func (r *run) space(ctx context.Context, name string) (string, error) {
	if _, err := r.Site.Run(ctx, r.Site.Skerry, "space", "create", name, "--kubeconfig", r.center.Kubeconfig); err != nil {
		return "", err
	}
	return r.SpaceKubeconfig(ctx, r.center, name)
}
