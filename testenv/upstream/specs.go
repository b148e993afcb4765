package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// specs runs the declared specs in that many spaces at once.
func (r *run) specs(ctx context.Context, spaces int) error {
	name := "specs in one space"
	if spaces > 1 {
		name = "specs in spaces"
	}
	return r.inSpaces(ctx, name, spacesOf(strconv.Itoa(spaces), spaces), func(d *Declared) []string { return d.Run })
}

// inSpaces runs a list of specs in new spaces at once, each with a suite of its own.
func (r *run) inSpaces(ctx context.Context, name string, spaces []string, which func(*Declared) []string) error {
	declared, err := Load(filepath.Join(r.Lists, "specs.yaml"))
	if err != nil {
		return err
	}
	chosen := chosen(which(declared), r.Focus)
	if len(chosen) == 0 {
		return nil
	}
	list := filepath.Join(r.Dir, "specs.txt")
	if err := os.WriteFile(list, []byte(strings.Join(chosen, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the list of specs: %w", err)
	}
	round := &Round{Name: name, Spaces: len(spaces), Declared: len(chosen), Excluded: declared.Left()}
	r.rounds = append(r.rounds, round)
	began := time.Now()
	results, errs := make([][]Result, len(spaces)), make([]error, len(spaces))
	var suites sync.WaitGroup
	for i, space := range spaces {
		suites.Go(func() { results[i], errs[i] = r.suite(ctx, space, list, len(chosen)) })
	}
	suites.Wait()
	round.Seconds = time.Since(began).Seconds()
	for i, space := range spaces {
		round.add(space, chosen, results[i])
	}
	return errors.Join(errs...)
}

// spacesOf names the n spaces of a round. Results and logs go by these names, so no two rounds may
// have the same.
func spacesOf(round string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("conformance-%s-%d", round, i+1))
	}
	return names
}

// suite runs the specs of a list in a new space. That specs fail is a result, no error.
func (r *run) suite(ctx context.Context, space, list string, of int) (all []Result, err error) {
	kubeconfig, err := r.space(ctx, space)
	if err != nil {
		return nil, err
	}
	results := filepath.Join(r.Dir, space+".results")
	log, err := os.Create(filepath.Join(r.logs, space+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, filepath.Join(r.Built, "ginkgo"), "--procs="+strconv.Itoa(r.Procs), "--no-color",
		"--timeout=4h",
		"--poll-progress-after=10m", filepath.Join(r.Built, "specs.test"), "--",
		"--kubeconfig="+kubeconfig, "--provider=skeleton", "--e2e-verify-service-account=false",
		"--allowed-not-ready-nodes=-1",
		"--minStartupPods=-1", "--num-nodes=0", "--dump-logs-on-failure=false", "--kubectl-path="+r.Site.Kubectl)
	cmd.Env = append(os.Environ(), "SKERRY_CONFORMANCE_SPECS="+list, "SKERRY_CONFORMANCE_RESULTS="+results)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, r.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second

	following, stop := context.WithCancel(ctx)
	read := make(chan error, 1)
	go func() {
		read <- follow(following, results, func(x Result) {
			x.Space = space
			all = append(all, x)
			r.progress(len(all), of, x)
		})
	}()
	ran := cmd.Run()
	stop()
	if err := <-read; err != nil {
		return all, err
	}
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return all, ctx.Err()
	}
	if ran != nil && (!errors.As(ran, &exit) || len(all) == 0) {
		return all, fmt.Errorf("run the specs in %s: %w; see %s", space, ran, log.Name())
	}
	return all, nil
}
